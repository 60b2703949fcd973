import { AwakenError, type HookPhase, type JsonValue, messageToolCalls, type Provider, threadId } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createRuntime, type Runtime } from "../create-runtime.ts";
import { command } from "../phase/command.ts";
import { defineEffect } from "../phase/effect.ts";
import { definePlugin } from "../plugin/define-plugin.ts";
import { defineState } from "../state/key.ts";
import { instantClock } from "../testing/fake-clock.ts";
import type { allow } from "../tool/allow.ts";
import { defineTool } from "../tool/define-tool.ts";
import { reply } from "../tool/reply.ts";
import { ask } from "../tool/verdict.ts";

const SILENT = { warn() {}, error() {} };
const THREAD = "t";

const PHASES = [
  "runStart",
  "stepStart",
  "beforeInference",
  "afterInference",
  "beforeToolExecute",
  "afterToolExecute",
  "stepEnd",
  "runEnd",
] as const satisfies readonly HookPhase[];
const PLACES = ["nowhere", "nowhere", ...PHASES, "gate", "approve", "effect"] as const;

/** One program of many that use the thread, one after the other: each has changed something. */
interface Program {
  readonly hasAgent: boolean;
  /** Which schema the key has: numbers, texts or lists. */
  readonly schema: number;
  readonly onInvalid: "fail" | "drop" | "empty";
  readonly hangs: (typeof PLACES)[number];
  readonly move: "run" | "run-and-cancel" | "decide" | "cancel";
  /** What a tool writes: now and then nothing that the key takes. */
  readonly writes: JsonValue;
}

const program: fc.Arbitrary<Program> = fc.record({
  hasAgent: fc.boolean(),
  schema: fc.nat(2),
  onInvalid: fc.constantFrom("fail", "drop", "empty"),
  hangs: fc.constantFrom(...PLACES),
  move: fc.constantFrom("run", "run", "run-and-cancel", "decide", "cancel"),
  writes: fc.constantFrom<JsonValue>(1, "one", ["one"], null),
});

const SCHEMAS: readonly z.ZodType<JsonValue>[] = [z.number(), z.string(), z.array(z.string())];
const EMPTY: readonly JsonValue[] = [0, "", []];
const never = <T>() => new Promise<T>(() => {});
const io = defineEffect("io", { payload: z.null() });

/** Any schema takes what it was written with, so a value tells by its type who wrote it. */
const isOfSome = (value: JsonValue | undefined) => value === undefined || SCHEMAS.some((schema) => schema.safeParse(value).success);

/** Calls and answers, as the seeds say; every call has an id of its own. */
function dice(seeds: readonly number[]): Provider {
  let count = 0;
  return {
    name: "dice",
    async *stream() {
      const roll = seeds[count++ % seeds.length] ?? 0;
      for (let index = 0; index < roll % 3; index++) {
        yield { type: "tool-call-start", id: `c${count}-${index}`, name: (roll + index) % 2 === 0 ? "write" : "pay" };
      }
      if (roll % 3 === 0) yield { type: "text-delta", delta: "done" };
      yield { type: "stop", reason: roll % 3 === 0 ? "end-turn" : "tool-use" };
    },
  };
}

function open(store: Store, provider: Provider, { hasAgent, schema, onInvalid, hangs, writes }: Omit<Program, "move">) {
  const clock = instantClock(1);
  const value = defineState<JsonValue, JsonValue>("value", {
    scope: "thread",
    schema: SCHEMAS[schema] ?? z.number(),
    initial: () => EMPTY[schema] ?? 0,
    apply: (_value, next) => next,
    merge: "commutative",
    onInvalid: onInvalid === "empty" ? () => EMPTY[schema] ?? 0 : onInvalid,
  });
  const input = z.object({});
  const pay = defineTool({
    id: "pay",
    description: "",
    input,
    approve: () => (hangs === "approve" ? never<ReturnType<typeof allow>>() : ask("Pay?")),
    execute: () => "paid",
  });
  const write = defineTool({
    id: "write",
    description: "",
    input,
    execute: () => reply("written", { command: command().update(value, writes) }),
  });
  const plugin = definePlugin({
    id: "keeper",
    register(r) {
      r.state(value);
      r.effect(io, () => (hangs === "effect" ? never<void>() : undefined));
      r.hook("stepStart", () => command().emit(io, null));
      if (hangs === "gate") r.gate(() => never<undefined>());
      for (const phase of PHASES) if (phase === hangs) r.hook(phase, () => never<undefined>());
    },
  });
  const runtime = createRuntime({
    providers: { dice: provider },
    models: { fast: { provider: "dice", model: "m" } },
    agents: { ...(hasAgent ? { keeper: { model: "fast", plugins: ["keeper"], maxSteps: 4 } } : {}), other: { model: "fast", maxSteps: 2 } },
    plugins: [plugin],
    tools: [pay, write],
    store,
    clock,
    log: SILENT,
  });
  return { runtime, clock };
}

const EXPECTED = new Set(["agent_not_found", "key_decode", "ticket_not_open", "ticket_not_found", "cancelled", "invalid_resume"]);

const tolerate = (work: Promise<unknown>): Promise<unknown> =>
  work.catch((thrown: unknown) => {
    if (!AwakenError.is(thrown) || !EXPECTED.has(thrown.code)) throw thrown;
  });

async function play(store: Store, runtime: Runtime, { move }: Program): Promise<void> {
  const openRun = (await store.threads.loadHead(threadId(THREAD)))?.openRun;
  switch (move) {
    case "run":
    case "run-and-cancel": {
      const run = runtime.stream({ agent: "keeper", thread: THREAD, input: "go" });
      if (move === "run-and-cancel") setImmediate(() => void tolerate(runtime.cancel(THREAD)));
      await tolerate(run.result);
      return;
    }
    case "decide": {
      const ticket = openRun?.status === "waiting" ? openRun.waiting.tickets[0]?.id : undefined;
      if (openRun === undefined || ticket === undefined) return;
      await tolerate(runtime.decide(ticket, { action: "approve" }).then(() => runtime.wait(openRun.runId)));
      return;
    }
    case "cancel":
      expect(await runtime.cancelAndWait(THREAD, { timeoutMs: 60_000 })).toBe(openRun?.status === "waiting");
      expect((await store.threads.loadHead(threadId(THREAD)))?.openRun).toBeUndefined();
  }
}

/** After any program: nobody is left running, every call has its result, and what is stored was once taken by its key. */
async function checkThread(store: Store): Promise<void> {
  const head = await store.threads.loadHead(threadId(THREAD));
  expect(["done", "waiting", undefined]).toContain(head?.latestRun?.status);
  expect(isOfSome(head?.state?.extensions["value"])).toBe(true);
  let calls: string[] = [];
  for (const { message } of head?.messages ?? []) {
    if (message.role === "tool") calls = calls.filter((id) => id !== message.toolCallId);
    else {
      expect(calls).toEqual([]);
      calls = messageToolCalls(message).map((call) => call.id);
    }
  }
  expect(calls).toEqual([]);
}

describe("a thread never becomes unusable", () => {
  it("whatever hangs, is gone or has changed in programs that use it: each run ends, a waiting one can be cancelled, the next one runs", async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", note);
    await fc.assert(
      fc.asyncProperty(
        fc.array(program, { minLength: 2, maxLength: 10 }),
        fc.array(fc.nat(12), { minLength: 3, maxLength: 12 }),
        async (programs, seeds) => {
          const store = memoryStore();
          const provider = dice(seeds);
          for (const each of programs) {
            const { runtime, clock } = open(store, provider, each);
            await play(store, runtime, each);
            await runtime[Symbol.asyncDispose]();
            expect(clock.pendingTimers).toBe(0);
            await checkThread(store);
          }
          const gone = open(store, provider, { hasAgent: false, schema: 0, onInvalid: "fail", hangs: "nowhere", writes: 1 });
          const isWaiting = (await store.threads.loadHead(threadId(THREAD)))?.openRun?.status === "waiting";
          expect(await gone.runtime.cancelAndWait(THREAD, { timeoutMs: 60_000 })).toBe(isWaiting);
          await checkThread(store);
          const last = open(store, dice([0]), { hasAgent: true, schema: 2, onInvalid: "drop", hangs: "nowhere", writes: 1 });
          const { status, text } = await last.runtime.run({ agent: "keeper", thread: THREAD, input: "still there?" });
          expect([status, text]).toEqual(["done", "done"]);
        },
      ),
      { numRuns: 150 },
    );
    process.off("unhandledRejection", note);
    expect(unhandled).toEqual([]);
  });
});
