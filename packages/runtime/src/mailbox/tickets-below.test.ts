import type { AgentEvent } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createRuntime, type Runtime } from "../create-runtime.ts";
import { type FakeClock, fakeClock } from "../testing/fake-clock.ts";
import { toolCalls } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import { STORES } from "./stores.test-support.ts";

// A run below asks, and it or the one above it goes on with something else: those above that one have nothing to write until it is over.

const INPUTS: Readonly<Record<string, { readonly prompt: string }>> = {
  agent_run_middle: { prompt: "go" },
  agent_run_clerk: { prompt: "go" },
};

/** Who has something else to do while the clerk asks. */
type Busy = "clerk" | "middle";

function open(store: QueueStore, busy: Busy, lasting: Promise<void>, clock: FakeClock): Runtime {
  const slow = defineTool({
    id: "slow",
    description: "",
    input: z.object({}),
    execute: async () => {
      await lasting;
      return "slept";
    },
  });
  const pay = defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });
  const turn = (agent: Busy | "lead", name: string) =>
    toolCalls((agent === busy ? ["slow", name] : [name]).map((each) => ({ id: `c-${each}`, name: each, input: INPUTS[each] ?? {} })));
  return createRuntime({
    providers: {
      lead: scripted([turn("lead", "agent_run_middle")]),
      middle: scripted([turn("middle", "agent_run_clerk")]),
      clerk: scripted([turn("clerk", "pay")]),
    },
    models: Object.fromEntries(["lead", "middle", "clerk"].map((id) => [id, { provider: id, model: "m" }])),
    agents: {
      lead: { model: "lead", delegates: ["middle"], tools: [] },
      middle: { model: "middle", delegates: ["clerk"], tools: ["slow"] },
      clerk: { model: "clerk", tools: ["slow", "pay"] },
    },
    tools: [slow, pay],
    log: { warn() {}, error() {} },
    limits: { storeMs: 3_600_000 },
    store,
    clock,
  });
}

/** Reads until somebody asks. */
async function readToTicket(events: AsyncIterable<AgentEvent>): Promise<readonly AgentEvent[]> {
  const told: AgentEvent[] = [];
  for await (const event of events) {
    told.push(event);
    if (event.type === "ticket-open") return told;
  }
  return told;
}

/** What comes of it while time passes by this clock. */
async function inTime<T>(clock: FakeClock, work: Promise<T>): Promise<T> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  work.then(over, over);
  await expect
    .poll(async () => {
      await clock.advance(1_000);
      return isOver;
    })
    .toBe(true);
  return work;
}

describe.each(STORES)("whoever follows on %s", (_, make) => {
  test.each(["clerk", "middle"] as const)(
    "multi-agent 62: hears of a ticket while the %s goes on, whenever and wherever he came",
    async (busy) => {
      await using store = make();
      const clock = fakeClock(1_000);
      const lasting = Promise.withResolvers<void>();
      await using owner = open(store, busy, lasting.promise, clock);
      await using other = open(store, busy, lasting.promise, clock);
      const run = owner.stream({ agent: "lead", thread: "t", input: "go" });
      const direct = readToTicket(run);
      const early = readToTicket(owner.attach(run.id));
      const heard = (await inTime(clock, direct)).at(-1);
      expect(heard).toMatchObject({ type: "ticket-open", ticket: { message: "Pay?", agentPath: ["lead", "middle", "clerk"] } });
      const family = (await store.runs.list({ rootRunId: run.id, limit: 10 })).items;
      const middle = family.find(({ agentId }) => agentId === "middle") ?? expect.fail();
      const told = [early, ...[run.id, "t", middle.runId].map((id) => readToTicket(other.attach(id)))];
      for (const events of await inTime(clock, Promise.all(told))) expect(events.at(-1)).toMatchObject(heard ?? expect.fail());
      lasting.resolve();
      // It is told once.
      expect(await inTime(clock, run.result)).toMatchObject({ status: "waiting" });
      const all: AgentEvent[] = [];
      for await (const event of other.attach(run.id)) {
        all.push(event);
        if (event.type === "run-end") break;
      }
      expect(all.filter(({ type }) => type === "ticket-open")).toHaveLength(1);
    },
  );
});
