import { runId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { ask, createRuntime, defineTool } from "@awaken/runtime";
import { type ScriptStep, scripted, toolCall, toolCalls } from "@awaken/runtime/testing";
import { memoryStore } from "@awaken/stores/memory";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { startAgent } from "./a2a.test-support.ts";
import { until } from "./harness.test-support.ts";
import { a2a } from "./index.ts";

/** The system's clock, and how many of its timers are set. */
function countedClock() {
  const timers = new Set<object>();
  return {
    timers,
    now: () => Date.now(),
    timer(ms: number, fire: () => void) {
      const timer = setTimeout(() => {
        timers.delete(timer);
        fire();
      }, ms);
      timers.add(timer);
      return () => {
        clearTimeout(timer);
        timers.delete(timer);
      };
    },
    idleTimer(ms: number, fire: () => void) {
      const timer = setTimeout(fire, ms).unref();
      return () => clearTimeout(timer);
    },
  };
}

const adding = () => vi.spyOn(EventTarget.prototype, "addEventListener");
const removing = () => vi.spyOn(EventTarget.prototype, "removeEventListener");
let added: ReturnType<typeof adding>;
let removed: ReturnType<typeof removing>;

beforeEach(() => {
  added = adding();
  removed = removing();
});

afterEach(() => {
  vi.restoreAllMocks();
});

/** Who listens to signals that may still be aborted. */
function listeners(): number {
  const moves = [added.mock, removed.mock].flatMap(({ contexts, calls, invocationCallOrder }, isRemoval) =>
    invocationCallOrder.map((order, at) => ({ order, signal: contexts[at], listener: calls[at]?.[1], isRemoval: isRemoval === 1 })),
  );
  const open = new Map<AbortSignal, Set<unknown>>();
  for (const { signal, listener, isRemoval } of moves.sort((a, b) => a.order - b.order)) {
    if (!(signal instanceof AbortSignal) || signal.aborted) continue;
    const known = open.get(signal) ?? new Set();
    if (isRemoval) known.delete(listener);
    else known.add(listener);
    open.set(signal, known);
  }
  return [...open.values()].reduce((sum, { size }) => sum + size, 0);
}

/** The same numbers for the same seed. */
function random(seed: number): () => number {
  let state = seed + 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

const hanging = (first: readonly ScriptStep[] = []) =>
  scripted([...first, ...new Array<ScriptStep>(200).fill({ items: [{ type: "hang" }] })]);

/** Asks an agent here and one elsewhere, and sends out code and agents; one of those waits for a decision. Nothing of it ever ends by itself. */
const LEAD: readonly ScriptStep[] = new Array<ScriptStep>(200).fill(
  toolCalls([
    { name: "send_out", input: {} },
    { name: "agent_run_clerk", input: { prompt: "x" } },
    { name: "agent_run_far", input: { prompt: "x" } },
  ]),
);

/** How many are cancelled, each at a moment of its own. */
const LEADS = 12;

const STORES: readonly (readonly [string, () => QueueStore | undefined])[] = [
  ["no store", () => undefined],
  ["memory", () => memoryStore()],
];

describe.each(STORES)("a lead that is cancelled, with %s", (_, make) => {
  test("at a random moment: no task, run, timer, socket or listener of its family is left", async () => {
    const far = await startAgent({
      async act(turn) {
        turn.accept();
        turn.status("TASK_STATE_WORKING");
        await until(() => far.cancelled.includes(turn.taskId));
      },
    });
    const clock = countedClock();
    const atFirst = listeners();
    const store = make();
    let running = 0;
    const code = async (signal: AbortSignal): Promise<void> => {
      running += 1;
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      running -= 1;
    };
    const sendOut = defineTool({
      id: "send_out",
      description: "",
      input: z.object({}),
      execute: async (_input, { tasks }) => {
        await tasks.spawn({}, async ({ signal, tasks: more }) => {
          await more.spawn({}, (inner) => code(inner.signal)).catch(() => undefined);
          await code(signal);
        });
        await tasks.spawnAgent({ agent: "clerk", input: "hang" });
        await tasks.spawnAgent({ agent: "payer", input: "pay" });
        return "sent out";
      },
    });
    const pay = defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });
    const runtime = createRuntime({
      providers: { lead: scripted(LEAD), clerk: hanging(), payer: scripted(new Array<ScriptStep>(200).fill(toolCall("pay", {}))) },
      models: Object.fromEntries(["lead", "clerk", "payer"].map((id) => [id, { provider: id, model: "m" }])),
      agents: {
        lead: { model: "lead", delegates: ["clerk", "far"], tools: ["send_out"] },
        clerk: { model: "clerk", tools: [] },
        payer: { model: "payer", tools: ["pay"] },
        far: { description: "Far away", remote: { a2a: far.url } },
      },
      backends: [a2a({ allow: ["loopback"], clock })],
      tools: [sendOut, pay],
      clock,
      ...(store === undefined ? undefined : { store }),
      log: { warn() {}, error() {} },
    });
    await runtime.initialize();
    const before = { timers: clock.timers.size, listeners: listeners() };
    for (let seed = 0; seed < LEADS; seed++) {
      const pick = random(seed);
      const run = runtime.stream({ agent: "lead", thread: `t${seed}`, input: "go" });
      const ticks = Math.floor(pick() * 40);
      for (let tick = 0; tick < ticks; tick++) await new Promise((resolve) => setImmediate(resolve));
      // In one of three cases everything has begun.
      if (seed % 3 === 0) {
        await until(() => running === 2 && far.sockets.size > 0);
        expect(clock.timers.size).toBeGreaterThan(before.timers);
        expect(listeners()).toBeGreaterThan(before.listeners);
      }
      await runtime.cancel(run.id);
      expect(await run.result).toMatchObject({ status: "cancelled" });
      await until(() => running === 0 && far.sockets.size === 0);
      const open = { rootRunId: runId(run.id), statuses: ["created", "running", "waiting"] } as const;
      while ((await store?.runs.count(open)) ?? 0) await new Promise((resolve) => setImmediate(resolve));
      // The runtime's own listeners come with its first run; one for each family would be as many as there are leads.
      await until(() => clock.timers.size === before.timers && listeners() - before.listeners < LEADS);
    }
    expect(far.turns.length).toBeGreaterThan(3);
    await runtime.close();
    await until(() => clock.timers.size === 0 && listeners() === atFirst);
    await far.close();
  });
});
