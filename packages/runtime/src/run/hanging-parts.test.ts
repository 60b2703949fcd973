import { AwakenError, type HookPhase, type Schema, threadId } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import { defineAction } from "../phase/action.ts";
import { command } from "../phase/command.ts";
import { defineEffect } from "../phase/effect.ts";
import { definePlugin } from "../plugin/define-plugin.ts";
import type { Registrar } from "../plugin/registrar.ts";
import { defineState } from "../state/key.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import { text, toolCalls } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { allow } from "../tool/allow.ts";
import { defineTool, type ToolInit } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";

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

const marks = defineState("marks", {
  scope: "thread",
  schema: z.array(z.string()),
  initial: () => [],
  apply: (value, add: string) => [...value, add],
  merge: "commutative",
});
const work = defineAction("work", { phase: "stepStart", payload: z.string() });
const io = defineEffect("io", { payload: z.string() });

/** Something of the user's that is waited for. It hangs until it is told how to go on, and says when it was reached. */
class Hang<T> {
  readonly reached: Promise<void>;
  isOn = true;
  #reach: () => void;
  #resolve: ((value: T) => void)[] = [];
  #reject: ((thrown: unknown) => void)[] = [];

  constructor() {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.reached = promise;
    this.#reach = resolve;
  }

  wait(value: T): Promise<T> {
    if (!this.isOn) return Promise.resolve(value);
    this.#reach();
    return new Promise((resolve, reject) => {
      this.#resolve.push(resolve);
      this.#reject.push(reject);
    });
  }

  /** What was left behind comes back after all. */
  comeBack(how: "resolve" | "reject", value: T): void {
    for (const resolve of how === "resolve" ? this.#resolve : []) resolve(value);
    for (const reject of how === "reject" ? this.#reject : []) reject(new Error("too late"));
  }
}

type Given = undefined | ReturnType<typeof command>;

interface Place {
  readonly register?: (r: Registrar, hang: Hang<Given>) => void;
  readonly tool?: (hang: Hang<Given>) => Partial<ToolInit<{ n: number }, unknown>>;
  readonly store?: (store: Store, hang: Hang<Given>) => Store;
  readonly output?: (hang: Hang<Given>) => Schema<JsonAnswer>;
  /** How the run ends when the limit passes instead. Default: it fails with `timeout`, and a text that names this. */
  readonly late: "goes-on" | RegExp;
}
type JsonAnswer = { readonly ok: boolean };

const late = (): Given => command().update(marks, "late");
const hooked = (phase: HookPhase, isParallel: boolean): Place => ({
  register: (r, hang) => {
    r.hook(phase, () => hang.wait(undefined));
    if (isParallel) r.hook(phase, () => command().update(marks, "quick"));
  },
  late: phase === "runEnd" ? "goes-on" : new RegExp(`plugin 'rude' in ${phase}.*limits\\.hookMs`),
});

/** A schema that checks when it is let. */
const slowSchema = <T>(hang: Hang<Given>, value: T): Schema<T> & { readonly "~standard": { readonly jsonSchema: unknown } } => ({
  "~standard": {
    version: 1,
    vendor: "slow",
    validate: () => hang.wait(undefined).then(() => ({ value })),
    jsonSchema: { input: () => ({ type: "object" }) },
  },
});

const PLACES: { readonly [name: string]: Place } = {
  ...Object.fromEntries(PHASES.map((phase) => [`a hook in ${phase}`, hooked(phase, false)])),
  ...Object.fromEntries(PHASES.map((phase) => [`a hook in ${phase} beside another`, hooked(phase, true)])),
  "a hook that is a thenable which never calls back": {
    register: (r, hang) =>
      r.hook("stepStart", () => {
        if (!hang.isOn) return undefined;
        hang.wait(undefined).catch(() => {});
        // biome-ignore lint/suspicious/noThenProperty: a promise of another make.
        return { then: () => {} } as unknown as Promise<undefined>;
      }),
    late: /plugin 'rude' in stepStart/,
  },
  "a gate": {
    register: (r, hang) => r.gate(() => hang.wait(undefined).then(() => undefined)),
    late: /gate of plugin 'rude' on 'pay'.*limits\.gateMs/,
  },
  "a policy": {
    register: (r, hang) => r.policy(() => hang.wait(undefined).then(() => ({ type: "audit" }) as const)),
    late: /gate of plugin 'rude' on 'pay'/,
  },
  "an action": {
    register: (r, hang) => {
      r.action(work, () => hang.wait(undefined));
      r.hook("runStart", () => command().schedule(work, "x"));
    },
    late: "goes-on",
  },
  "an effect": {
    register: (r, hang) => {
      r.effect(io, () => hang.wait(undefined).then(() => {}));
      r.hook("stepStart", () => command().emit(io, "x"));
    },
    late: "goes-on",
  },
  approve: { tool: (hang) => ({ approve: () => hang.wait(undefined).then(allow) }), late: "goes-on" },
  "an input schema": { tool: (hang) => ({ input: slowSchema(hang, { n: 1 }) }), late: "goes-on" },
  "an output schema": { tool: (hang) => ({ output: slowSchema<unknown>(hang, "checked") }), late: "goes-on" },
  "the schema of the answer": { output: (hang) => slowSchema(hang, { ok: true }), late: /the schema of the answer.*limits\.schemaMs/ },
};

function open(place: Place, hang: Hang<Given>, init: Partial<RuntimeInit> = {}) {
  const clock = fakeClock(1_000);
  const lines: string[] = [];
  const store = memoryStore();
  const note = (message: string) => lines.push(message);
  const base = { id: "pay", description: "", input: z.object({ n: z.number() }), parameters: {}, execute: () => "paid" };
  const pay = defineTool<{ n: number }, unknown>({ ...base, ...place.tool?.(hang) });
  const look = defineTool({ ...base, id: "look", execute: () => "seen" });
  const calls = ["pay", "look"].map((name) => ({ name, input: { n: 1 } }));
  const rude = definePlugin({
    id: "rude",
    register(r) {
      r.state(marks);
      place.register?.(r, hang);
    },
  });
  const turns = Array.from({ length: 4 }, () => [toolCalls(calls), text('{"ok":true}')]).flat();
  const runtime = createRuntime({
    providers: { scripted: scripted(turns, { clock }) },
    models: { fast: { provider: "scripted", model: "m" } },
    agents: { default: { model: "fast", plugins: ["rude"] } },
    plugins: [rude],
    tools: [pay, look],
    store: place.store?.(store, hang) ?? store,
    clock,
    log: { warn: note, error: note },
    workers: false,
    ...init,
  });
  const output = place.output?.(hang);
  const request = { thread: "t", input: "go", ...(output === undefined ? {} : { output }) };
  return { runtime, clock, store, lines, request };
}

const marksOf = async (store: Store) => (await store.threads.loadHead(threadId("t")))?.state?.extensions["marks"];

const unhandled: unknown[] = [];
const noteUnhandled = (reason: unknown) => unhandled.push(reason);
beforeEach(() => {
  process.on("unhandledRejection", noteUnhandled);
});
afterEach(async () => {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
  process.off("unhandledRejection", noteUnhandled);
  expect(unhandled.splice(0)).toEqual([]);
});

const GRACE = 30_000;

/** What has come by now: nothing here waits for real time. */
function byNow<T>(given: PromiseLike<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const turns = (left: number): unknown => (left === 0 ? reject(new Error("it is still not over")) : setImmediate(() => turns(left - 1)));
  turns(20);
  return Promise.race([given, promise]);
}

describe.each(Object.entries(PLACES))("%s that never settles", (name, place) => {
  test.each(["resolve", "reject"] as const)(
    `core-execution 86: ${name}: a cancelled run ends within the grace; what comes later (%s) reaches nobody`,
    async (how) => {
      const hang = new Hang<Given>();
      const { runtime, clock, store, request } = open(place, hang);
      const run = runtime.stream(request);
      await hang.reached;
      expect(await runtime.cancel("t")).toBe(true);
      await clock.advance(GRACE);
      const isAtEnd = name.includes("runEnd");
      expect((await byNow(run.result)).status).toBe(isAtEnd ? "done" : "cancelled");
      expect(clock.pendingTimers).toBe(0);
      const before = await marksOf(store);
      hang.comeBack(how, late());
      await clock.advance(0);
      expect(await marksOf(store)).toEqual(before);
      expect(JSON.stringify(before ?? [])).not.toContain("late");
      hang.isOn = false;
      expect((await runtime.run(request)).status).toBe("done");
      expect(clock.pendingTimers).toBe(0);
      await runtime[Symbol.asyncDispose]();
    },
  );

  test(`core-execution 86: ${name}: the runtime can be closed`, async () => {
    const hang = new Hang<Given>();
    const { runtime, clock, request } = open(place, hang);
    const run = runtime.stream(request);
    await hang.reached;
    const closed = runtime[Symbol.asyncDispose]();
    await clock.advance(GRACE);
    await byNow(closed);
    await byNow(run.result);
    expect(clock.pendingTimers).toBe(0);
  });

  test(`core-execution 86: ${name}: without a cancel there is a limit, which is told by name`, async () => {
    const hang = new Hang<Given>();
    const { runtime, clock, store, lines, request } = open(place, hang);
    const run = runtime.stream(request);
    await hang.reached;
    // Places that are passed more than once take their limit each time.
    for (let times = 0; times < 8; times++) await clock.advance(120_000);
    const result = await byNow(run.result);
    if (place.late === "goes-on") expect(result.status).toBe("done");
    else {
      expect(result).toMatchObject({ status: "failed", error: { code: "timeout" } });
      expect(result.status === "failed" && result.error.message).toMatch(place.late);
    }
    if (place.late === "goes-on" && place.tool === undefined) expect(lines.join()).toMatch(/rude.*did not answer within/);
    expect(clock.pendingTimers).toBe(0);
    hang.comeBack("resolve", late());
    hang.isOn = false;
    expect((await runtime.run(request)).status).toBe("done");
    expect(JSON.stringify((await marksOf(store)) ?? [])).not.toContain("late");
  });
});

describe("a store that never answers", () => {
  const never = <T>(hang: Hang<Given>, work: () => Promise<T>): Promise<T> => hang.wait(undefined).then(work);

  /** `nth`: the commits before it are answered. */
  const dead = (nth: number): Place => {
    let count = 0;
    return {
      store: (store, hang) => ({
        ...store,
        commit: (commit) => (++count >= nth ? never(hang, () => store.commit(commit)) : store.commit(commit)),
      }),
      late: "goes-on",
    };
  };

  test.each([1, 2, 3, 4])(
    "core-execution 86: at its commit %i: the cancelled run gives its thread back, the runtime can be closed",
    async (nth) => {
      const hang = new Hang<Given>();
      const { runtime, clock, request } = open(dead(nth), hang);
      const run = runtime.stream(request);
      await hang.reached;
      expect(await runtime.cancel("t")).toBe(true);
      await clock.advance(GRACE);
      expect(await byNow(run.result)).toMatchObject({ status: "failed", error: { code: "storage_io" } });
      hang.isOn = false;
      expect(clock.pendingTimers).toBe(0);
      await runtime[Symbol.asyncDispose]();
    },
  );

  it("fails a run that cannot even be loaded, at its limit, and the thread is free", async () => {
    const hang = new Hang<Given>();
    const place: Place = {
      store: (store, own) => ({
        ...store,
        threads: { ...store.threads, loadHead: (id) => never(own, () => store.threads.loadHead(id)) },
      }),
      late: "goes-on",
    };
    const { runtime, clock, request } = open(place, hang, { limits: { storeMs: 100 } });
    const refused = runtime.run(request).catch((thrown: unknown) => thrown);
    await hang.reached;
    await clock.advance(100);
    expect(await byNow(refused)).toMatchObject({
      code: "storage_io",
      message: expect.stringMatching(/load a thread.*within 100 ms.*limits\.storeMs/),
    });
    hang.isOn = false;
    expect((await runtime.run(request)).status).toBe("done");
  });

  it("a transaction that was given up does not commit when the store comes back", async () => {
    const hang = new Hang<Given>();
    hang.isOn = false;
    const place: Place = {
      tool: () => ({ approve: () => ask("?") }),
      store: (store, own) => ({ ...store, transaction: (work) => never(own, () => store.transaction(work)) }),
      late: "goes-on",
    };
    const { runtime, clock, store, request } = open(place, hang);
    const waiting = await runtime.run(request);
    if (waiting.status !== "waiting") throw new Error("expected a run that waits");
    hang.isOn = true;
    const refused = runtime.decide(waiting.tickets[0]?.id ?? "", { action: "approve" }).catch((thrown: unknown) => thrown);
    await hang.reached;
    await clock.advance(600_000);
    expect(AwakenError.is(await byNow(refused))).toBe(true);
    hang.comeBack("resolve", undefined);
    await clock.advance(0);
    expect(await store.runs.load(waiting.runId)).toMatchObject({ status: "waiting" });
  });
});

describe("limits", () => {
  it("are checked by name and value", () => {
    const refused = (limits: object) => () => open({ late: "goes-on" }, new Hang(), { limits });
    expect(refused({ hooksMs: 1 })).toThrow(/limits.*hookMs/);
    expect(refused({ hookMs: 0 })).toThrow(/limits/);
  });

  it("Infinity sets no timer", async () => {
    const hang = new Hang<Given>();
    const place = hooked("stepStart", false);
    const { runtime, clock, request } = open(place, hang, { limits: { hookMs: Number.POSITIVE_INFINITY } });
    const run = runtime.stream(request);
    await hang.reached;
    expect(clock.pendingTimers).toBe(0);
    hang.isOn = false;
    hang.comeBack("resolve", undefined);
    await clock.advance(0);
    expect((await byNow(run.result)).status).toBe("done");
  });

  it("a run whose hooks, handlers and schemas are synchronous sets none", async () => {
    let timers = 0;
    const clock = fakeClock(1_000);
    const counted = {
      now: () => clock.now(),
      timer: (ms: number, fire: () => void) => {
        timers += 1;
        return clock.timer(ms, fire);
      },
    };
    const busy = definePlugin({
      id: "busy",
      register(r) {
        r.state(marks);
        for (const phase of PHASES) r.hook(phase, () => command().update(marks, phase));
        r.action(work, () => command().update(marks, "worked"));
        r.effect(io, () => {});
        r.hook("runStart", () => command().schedule(work, "x").emit(io, "y"));
        r.gate(() => undefined);
      },
    });
    const runtime = createRuntime({
      providers: {
        p: {
          name: "p",
          async *stream() {
            yield { type: "text-delta", delta: "hi" };
            yield { type: "stop", reason: "end-turn" };
          },
        },
      },
      models: { fast: { provider: "p", model: "m" } },
      agents: { default: { model: "fast", plugins: ["busy"] } },
      plugins: [busy],
      clock: counted,
    });
    const bare = createRuntime({
      providers: {
        p: {
          name: "p",
          async *stream() {
            yield { type: "text-delta", delta: "hi" };
            yield { type: "stop", reason: "end-turn" };
          },
        },
      },
      models: { fast: { provider: "p", model: "m" } },
      agents: { default: { model: "fast" } },
      clock: counted,
    });
    await bare.run({ thread: "t", input: "go" });
    const ofModel = timers;
    timers = 0;
    expect((await runtime.run({ thread: "t", input: "go" })).status).toBe("done");
    expect(timers).toBe(ofModel);
  });
});
