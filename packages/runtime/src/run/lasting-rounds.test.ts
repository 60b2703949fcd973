import {
  type AgentEvent,
  type InferenceRequest,
  messageText,
  messageToolCalls,
  openTicketsOf,
  runId,
  type Ticket,
  threadId,
} from "@awaken/contract";
import { effectiveMessages, type Store } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { sqliteStore } from "@awaken/stores/sqlite";
import { describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { CRASH_POINTS, type CrashPoint, crashPoints } from "../testing/crash-points.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import { text, toolCalls } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { wait } from "../tool/reply.ts";
import { ask } from "../tool/verdict.ts";
import { input, type Kind, open, World } from "./crash.test-support.ts";
import type { RunRequest } from "./run-request.ts";

const nothing = z.object({});
const call = (name: string, id: string) => ({ name, input: {}, id });

/** In the first life all but `quick` last until it ends; in the next one only those that are named. */
function world() {
  const ran: string[] = [];
  let isLasting = (_id: string) => true;
  const lasting = (id: string, pure: boolean, reply: () => unknown = () => id, idempotent = false) =>
    defineTool({
      id,
      description: "",
      input: nothing,
      pure,
      idempotent,
      execute: async (_input, { resume }) => {
        if (isLasting(id)) await new Promise(() => {});
        ran.push(id);
        return resume === undefined ? reply() : "asked";
      },
    });
  const tools = [
    lasting("look", true),
    lasting("send", false),
    lasting("again", false, () => "again", true),
    lasting("asks", true, () => wait({ action: "confirm" })),
    defineTool({ id: "quick", description: "", input: nothing, execute: () => "quick" }),
  ];
  const die = (...lasting: readonly string[]) => {
    isLasting = (id) => lasting.includes(id);
    ran.length = 0;
  };
  return { ran, tools, die };
}

/** Each call with its result, as a vendor wants them: a result without its call would be refused. */
function turnsOf(request: InferenceRequest | undefined): readonly string[] {
  return (request?.messages ?? []).flatMap((message) => {
    if (message.role === "tool") return [`${message.toolCallId}: ${messageText(message)}`];
    return message.role === "assistant"
      ? [
          messageToolCalls(message)
            .map(({ id }) => id)
            .join(" "),
        ]
      : [];
  });
}

const STORES: readonly (readonly [string, () => Store | Promise<Store>])[] = [
  ["memory", memoryStore],
  ["sqlite", () => sqliteStore(":memory:")],
];

/**
 * A turn with calls that wait, last and are done at once, decided as soon as they wait; the process dies at the given point. Whoever comes
 * next takes the run up, or sends a message, and brings everything to its end. Gives whether it died.
 */
async function dieAt(at: CrashPoint, nth: number, mode: "parallel" | "sequential", way: "resume" | "message"): Promise<boolean> {
  const [store, clock, world] = [memoryStore(), fakeClock(1), new World()];
  const where = `${mode} ${way} ${at} ${nth}`;
  let process = 1;
  const lasting = (id: string, ms: number, kind: Kind = {}) => {
    return defineTool({
      id,
      description: "",
      input,
      ...kind,
      execute: async (given, context) => {
        const own = process;
        await new Promise<void>((resolve) => void clock.timer(ms, () => own === process && resolve()));
        world.effects.push(`${id} ${given.n} ${context.idempotencyKey}`);
        return { did: given.n };
      },
    });
  };
  const tools = [
    world.tool("pay", { approve: () => ask("Pay?") }),
    world.tool("quick"),
    lasting("known", 300, { reconcile: world.reconcile }),
    lasting("send", 400),
    lasting("look", 700, { pure: true }),
  ];
  const names = ["look", "pay", "known", "quick", "send", "pay", "look"];
  const turn = () => toolCalls(names.map((name, n) => ({ name, input: { n }, id: "call_0" })));
  const agents = { default: { model: "fast", toolExecution: mode } };
  const points = crashPoints({ at, nth, mode: "throw" });
  const decide = (runtime: ReturnType<typeof open>, { id, action }: Ticket) =>
    runtime.decide(id, action === "unknown-outcome" ? { action: "deny" } : { action: "approve" }).then((run) => run.result);
  const follow = async (runtime: ReturnType<typeof open>, request: RunRequest, hear: (event: AgentEvent) => void = () => {}) => {
    const run = runtime.stream(request);
    const decided: Promise<unknown>[] = [];
    for await (const event of run) {
      hear(event);
      if (event.type === "ticket-open") decided.push(decide(runtime, event.ticket).catch(() => {}));
    }
    await Promise.all(decided);
    let result = await runtime.wait(run.id);
    while (result.status === "waiting" && result.tickets[0] !== undefined) result = await decide(runtime, result.tickets[0]);
    return result;
  };
  let isOver = false;
  const ticking = (async () => {
    while (!isOver) await clock.advance(50);
  })();
  try {
    const dying = open(scripted([turn(), text("over")]), {
      ...{ clock, agents, store: points.commits(store, "commit", "transaction"), tools: points.tools(tools) },
    });
    const first = await Promise.race([
      follow(
        dying,
        { thread: "t", runId: "r", input: "go" },
        points.emits(() => {}),
      ).catch(() => undefined),
      (async () => {
        while (!points.hasCrashed) await new Promise((resolve) => setImmediate(resolve));
      })(),
    ]);
    if (!points.hasCrashed) expect(first, where).toMatchObject({ status: "done" });
    process = 2;
    const model = scripted([text("over"), text("over"), text("over")]);
    const next = open(model, { clock, agents, store, tools });
    const record = await store.runs.load(runId("r"));
    if (way === "message") await follow(next, { thread: "t", runId: "n", input: "and now?" });
    else if (record === undefined) await follow(next, { thread: "t", runId: "r", input: "go" });
    else if (record.status === "running") await follow(next, { thread: "t", resume: "r" });
    for (let tries = 0; tries < 10; tries++) {
      const open = (await store.threads.loadHead(threadId("t")))?.openRun;
      const [ticket] = open === undefined ? [] : openTicketsOf(open);
      if (ticket !== undefined) await decide(next, ticket);
    }
    expect(
      (await store.runs.list({})).items.map(({ status }) => status),
      where,
    ).not.toContain("running");
    const effects = world.done.filter((effect) => !effect.startsWith("look"));
    expect(effects.length, `${where}: ${effects.join(", ")}`).toBe(new Set(effects).size);
    const log = (await store.threads.loadHead(threadId("t")))?.messages ?? [];
    expect(effectiveMessages(log), where).toEqual(log);
    for (const request of model.requests) {
      const asked = request.messages.flatMap((message) => messageToolCalls(message).map(({ id }) => id));
      expect(
        request.messages.flatMap((message) => (message.role === "tool" ? [message.toolCallId] : [])),
        where,
      ).toEqual(asked);
    }
    // What was asked for before the process died is in view: all of it when the run goes on.
    const shown = log.flatMap(({ message }) => messageToolCalls(message));
    const claimed = (await store.ledger.list(runId("r"))).map(({ toolCallId }) => toolCallId);
    if (way === "resume" && shown.length > 0) expect(shown.length, where).toBe(names.length);
    else
      expect(
        shown.map(({ id }) => id),
        where,
      ).toEqual(expect.arrayContaining(claimed.filter((id) => world.effects.some((effect) => effect.includes(id)))));
  } finally {
    isOver = true;
    await ticking;
  }
  return points.hasCrashed;
}

describe("a process that dies anywhere in a turn with calls that wait, last and are done", () => {
  test.each((["parallel", "sequential"] as const).flatMap((mode) => (["resume", "message"] as const).map((way) => [mode, way] as const)))(
    "%s, then a %s: nothing happens twice, every call has its result, no run stays running",
    async (mode, way) => {
      let deaths = 0;
      for (const at of CRASH_POINTS) for (let nth = 1; await dieAt(at, nth, mode, way); nth++) deaths += 1;
      expect(deaths).toBeGreaterThan(40);
    },
  );
});

describe.each(STORES)("a process that dies in a round that lasts, %s", (_, make) => {
  /** The calls of one turn, until they last; then the process is gone. */
  async function cut(calls: Parameters<typeof toolCalls>[0], toolExecution: "parallel" | "sequential", lasting: readonly string[] = []) {
    const [store, clock, { ran, tools, die }] = [await make(), fakeClock(1), world()];
    const agents = { default: { model: "fast", toolExecution } };
    const run = open(scripted([toolCalls(calls)]), { store, tools, clock, agents }).stream({ thread: "t", input: "go" });
    await vi.waitFor(async () => {
      await clock.advance(50);
      expect((await store.messages.list(threadId("t"), {})).items.length).toBeGreaterThan(1);
    });
    for (let round = 0; round < 20; round++) await clock.advance(50);
    die(...lasting);
    const model = scripted([text("over")]);
    return { store, clock, ran, run: run.id, model, there: open(model, { store, tools, clock, agents }) };
  }

  test.each(["parallel", "sequential"] as const)(
    "core-execution 98: calls that were not over beside one whose outcome is on record are brought to their end, %s",
    async (mode) => {
      const { store, ran, run, there, model } = await cut([call("quick", "a"), call("look", "b"), call("look", "c")], mode);
      expect((await store.ledger.list(run)).map(({ toolName, status }) => `${toolName} ${status}`)).toEqual(["quick finished"]);
      expect(await there.resume(run)).toMatchObject({ status: "done", text: "over" });
      expect(ran).toEqual(["look", "look"]);
      expect(turnsOf(model.requests[0])).toEqual(["a b c", "a: quick", "b: look", "c: look"]);
    },
  );

  test.each(["parallel", "sequential"] as const)(
    "core-execution 98: the turn is on record though nothing of it is claimed: the model is not asked for it again, %s",
    async (mode) => {
      const { store, ran, run, there, model } = await cut([call("look", "a")], mode);
      expect(await store.ledger.list(run)).toEqual([]);
      expect(await there.resume(run)).toMatchObject({ status: "done", text: "over" });
      expect(ran).toEqual(["look"]);
      expect(model.requests.map(turnsOf)).toEqual([["a", "a: look"]]);
    },
  );

  test.each(["parallel", "sequential"] as const)("and a new message instead leaves what is on record, %s", async (mode) => {
    const { ran, there, model } = await cut([call("quick", "a"), call("look", "b"), call("look", "c")], mode);
    expect(await there.run({ thread: "t", input: "leave it" })).toMatchObject({ status: "done", text: "over" });
    expect(ran).toEqual([]);
    expect(turnsOf(model.requests[0])).toEqual(["a", "a: quick"]);
  });

  test("core-execution 98: what is found out about a call in the second life is on record when that one ends too", async () => {
    const { store, clock, ran, run, there } = await cut([call("again", "a"), call("look", "b")], "parallel", ["look"]);
    void there.resume(run);
    for (let round = 0; round < 20; round++) await clock.advance(50);
    expect(ran).toEqual(["again"]);
    expect((await store.ledger.list(run)).map(({ toolName, status }) => `${toolName} ${status}`)).toEqual(["again finished"]);
  });

  test("core-execution 76: tickets come in call order also when the outcome of a later call is what is asked about first", async () => {
    const { run, there } = await cut([call("asks", "a"), call("send", "b")], "parallel");
    const tickets = ticketsOf(await there.resume(run));
    expect(tickets.map(({ toolCallId, action }) => `${toolCallId} ${action}`)).toEqual(["a confirm", "b unknown-outcome"]);
  });
});
