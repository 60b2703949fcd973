import { AwakenError, openTicketsOf, type Provider, type RunRecord, threadId } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createRuntime, type Runtime } from "../create-runtime.ts";
import { checkEvents } from "../testing/event-checker.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";

const THREADS = ["t0", "t1", "t2"] as const;
const SILENT = { warn() {}, error() {} };

type Step =
  | { readonly type: "run"; readonly thread: number; readonly isStream: boolean }
  | {
      readonly type: "decide";
      readonly thread: number;
      readonly isApproval: boolean;
      readonly isTwice: boolean;
      readonly isElsewhere: boolean;
    }
  | { readonly type: "early"; readonly thread: number }
  | { readonly type: "cancel"; readonly thread: number; readonly isAwaited: boolean }
  | { readonly type: "send"; readonly thread: number }
  | { readonly type: "ticks"; readonly count: number };

const thread = fc.integer({ min: 0, max: 2 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ type: fc.constant("run" as const), thread, isStream: fc.boolean() }),
  fc.record({
    type: fc.constant("decide" as const),
    thread,
    isApproval: fc.boolean(),
    isTwice: fc.boolean(),
    isElsewhere: fc.boolean(),
  }),
  fc.record({ type: fc.constant("early" as const), thread }),
  fc.record({ type: fc.constant("cancel" as const), thread, isAwaited: fc.boolean() }),
  fc.record({ type: fc.constant("send" as const), thread }),
  fc.record({ type: fc.constant("ticks" as const), count: fc.integer({ min: 1, max: 12 }) }),
);

async function ticks(count: number): Promise<void> {
  for (let index = 0; index < count; index++) await new Promise((resolve) => setImmediate(resolve));
}

/** What the model does next comes from a list of small numbers, so that a failure can be played again. */
function dice(seeds: readonly number[]): Provider {
  // Some vendors number the calls of each answer from the start, and some give all calls of an answer one id.
  const idOf = [(_index: number) => `c${calls++}`, (index: number) => `c${index}`, () => "c1"][(seeds[0] ?? 0) % 3] ?? (() => "c1");
  let count = 0;
  let calls = 0;
  return {
    name: "dice",
    async *stream(_request, { signal }) {
      const roll = seeds[count++ % seeds.length] ?? 0;
      await ticks(roll % 3);
      if (signal.aborted) throw new Error("aborted");
      for (let index = 0; index < roll % 4; index++) {
        yield { type: "tool-call-start", id: idOf(index), name: (roll + index) % 3 === 0 ? "look" : "pay" };
      }
      if (roll % 4 === 0) yield { type: "text-delta", delta: "done" };
      yield { type: "stop", reason: roll % 4 === 0 ? "end-turn" : "tool-use" };
    },
  };
}

function open(store: Store, provider: Provider, paid: string[]) {
  const pay = defineTool({
    id: "pay",
    description: "",
    input: z.object({}),
    approve: () => ask("Pay?"),
    execute: async (_input, { idempotencyKey }) => {
      paid.push(idempotencyKey);
      await ticks(1);
      return "paid";
    },
  });
  const look = defineTool({ id: "look", description: "", input: z.object({}), execute: () => ticks(1).then(() => "seen") });
  return createRuntime({
    providers: { dice: provider },
    models: { fast: { provider: "dice", model: "m" } },
    agents: { default: { model: "fast", maxSteps: 5 } },
    tools: [pay, look],
    store,
    log: SILENT,
  });
}

interface World {
  readonly store: Store;
  readonly here: Runtime;
  readonly there: Runtime;
  readonly pending: Promise<unknown>[];
  /** Decisions that somebody was told are taken. */
  readonly taken: string[];
}

const EXPECTED = new Set([
  "thread_already_running",
  "ticket_not_found",
  "ticket_not_open",
  "channel_closed",
  "invalid_resume",
  "cancelled",
  "ambiguous_id",
]);

/** Refusals that say what they are about are part of the game; anything else is a bug. */
const tolerate = (work: Promise<unknown>): Promise<unknown> =>
  work.catch((thrown: unknown) => {
    if (!AwakenError.is(thrown) || !EXPECTED.has(thrown.code)) throw thrown;
  });

async function openTicket(store: Store, name: string): Promise<string> {
  const run = (await store.threads.loadHead(threadId(name)))?.openRun;
  return (run === undefined ? undefined : openTicketsOf(run)[0]?.id) ?? "none";
}

async function checkStream(runtime: Runtime, name: string): Promise<void> {
  const stream = runtime.stream({ thread: name, input: "hello" });
  const events = [];
  for await (const event of stream) events.push(event);
  checkEvents(events);
  await stream.result;
}

async function play({ store, here, there, pending, taken }: World, move: Step, index: number): Promise<void> {
  if (move.type === "ticks") return ticks(move.count);
  const name = THREADS[move.thread] ?? "t0";
  switch (move.type) {
    case "run":
      pending.push(tolerate(move.isStream ? checkStream(here, name) : here.run({ thread: name, input: "hello" })));
      return;
    case "decide": {
      const ticket = await openTicket(store, name);
      const decision = { id: `d${index}`, action: move.isApproval ? ("approve" as const) : ("deny" as const) };
      const decide = async (runtime: Runtime) => {
        await runtime.decide(ticket, decision);
        taken.push(decision.id);
      };
      pending.push(tolerate(decide(move.isElsewhere ? there : here)));
      if (move.isTwice) pending.push(tolerate(decide(here)));
      return;
    }
    case "early":
      {
        const run = (await store.threads.loadHead(threadId(name)))?.openRun?.runId ?? name;
        pending.push(tolerate(here.decide("c1", { action: "approve", id: `d${index}`, run })));
      }
      return;
    case "cancel":
      pending.push(tolerate(move.isAwaited ? here.cancelAndWait(name) : here.cancel(name)));
      return;
    case "send":
      pending.push(here.send(name, "by the way"));
      return;
  }
}

/** Every thread is free and takes a new run; nothing is left running, and no decision that was taken is lost. */
async function checkEnd({ store, here, there, pending, taken }: World): Promise<void> {
  await Promise.all(pending);
  for (const name of THREADS) {
    await Promise.all([here.cancelAndWait(name), there.cancelAndWait(name)].map(tolerate));
    await there.cancelAndWait(name);
    const { status } = await here.run({ thread: name, input: "still there?" });
    // A model that asks for the same again and again is stopped.
    expect(["done", "waiting", "stopped"]).toContain(status);
  }
  const decided = new Set<string>();
  for (const name of THREADS) {
    const runs: readonly RunRecord[] = (await store.runs.list({ threadId: threadId(name) })).items;
    for (const run of runs) {
      expect(["done", "waiting"], run.runId).toContain(run.status);
      for (const entry of run.decided) decided.add(entry.decisionId);
    }
    expect(runs.filter((run) => run.status === "waiting").length).toBeLessThanOrEqual(1);
  }
  const lost: string[] = [];
  // One that was made for a run elsewhere, which ended before it could follow it, is a row still.
  for (const id of taken) if (!decided.has(id) && (await store.wishes.load(id)) === undefined) lost.push(id);
  expect(lost).toEqual([]);
}

describe("run control", () => {
  it("any order of runs, decisions, cancels and messages leaves every thread free and every record legal", async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", note);
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 3, maxLength: 30 }),
        fc.array(fc.nat(12), { minLength: 3, maxLength: 12 }),
        async (steps, seeds) => {
          const [store, paid, provider] = [memoryStore(), [] as string[], dice(seeds)];
          const world: World = { store, here: open(store, provider, paid), there: open(store, provider, paid), pending: [], taken: [] };
          for (const [index, move] of steps.entries()) await play(world, move, index);
          await checkEnd(world);
          expect(new Set(paid).size).toBe(paid.length);
        },
      ),
      { numRuns: 150 },
    );
    process.off("unhandledRejection", note);
    expect(unhandled).toEqual([]);
  });
});
