import { memoryStore } from "@awaken/stores/memory";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkAnswered } from "./support/dialects.ts";
import { FAULT_KINDS, type Fault, type FaultKind, faultOf, pickFault } from "./support/faults.ts";
import { expectMeantText, expectNaturalEnd, expectOnce, expectSameText, type Outcome, recoveries, runTask } from "./support/proof.ts";
import { random } from "./support/random.ts";
import { count, Reservations } from "./support/reservations.ts";
import { TaskModel, taskItems, taskOfBody } from "./support/task.ts";
import { openTaskRuntime } from "./support/task-runtime.ts";
import { VENDOR_NAMES, type VendorName } from "./support/vendors.ts";
import { openWire, type Wire, type WireRequest } from "./support/wire.ts";

/** Another seed is another 200 runs: AWAKEN_E2E_SEED=1 npx vitest run e2e/inference/chaos */
const SEED = Number(process.env["AWAKEN_E2E_SEED"] ?? 5);
const RUNS = 200;
const SHARE = 0.3;
const LANES = 20;
/** At 30 % per request, eleven tries let every run of ten thousands through. */
const RETRY = { maxRetries: 10, backoffBaseMs: 1, overloadedBackoffBaseMs: 2, maxStreamRetries: 10, streamIdleTimeoutSecs: 1 };
/** For silence before the first word, which one vendor's package waits for while it opens. */
const OPEN_TIMEOUT_MS = 3000;

const faults = new Map<FaultKind, number>();
const reservations = new Reservations();
const model = new TaskModel();
const store = memoryStore();
const outcomes: Outcome[] = [];
const failures: { readonly task: number; readonly thrown: unknown }[] = [];
let wire: Wire;

const vendorOf = (task: number): VendorName => VENDOR_NAMES[task % VENDOR_NAMES.length] ?? "openai";
const sum = (numbers: Iterable<number>): number => [...numbers].reduce((total, number) => total + number, 0);

/** Each request of each task has its own numbers, so a seed means the same faults whatever the order of the runs. */
function chaos(): (request: WireRequest) => Fault | undefined {
  const asked = new Map<number, number>();
  return ({ vendor, body }) => {
    const task = taskOfBody(body);
    count(asked, task);
    const dice = random(SEED, task, asked.get(task) ?? 0);
    const kind = pickFault(dice, SHARE);
    if (kind === undefined) return undefined;
    count(faults, kind);
    return faultOf(kind, vendor, dice.next());
  };
}

function report(seconds: number): void {
  const kinds = FAULT_KINDS.map((kind) => `${kind} ${faults.get(kind) ?? 0}`).join(", ");
  const recovered = outcomes.map(recoveries);
  const restarted = sum(recovered.map((run) => run.restarted));
  const cutShort = sum(recovered.map((run) => run.cutShort));
  const lost = sum(recovered.map((run) => run.lostCalls));
  console.info(
    [
      `chaos: seed ${SEED}, ${outcomes.length} runs, ${wire.requests.length} requests, ${reservations.byKey.size} tool calls, ${seconds.toFixed(1)} s`,
      `faults: ${sum(faults.values())} (${kinds})`,
      `recovered: ${restarted} restarts, ${sum(model.continuations.values())} continuations, ${cutShort} turns cut short, ${lost} calls cancelled`,
    ].join("\n"),
  );
}

beforeAll(async () => {
  const startedAt = performance.now();
  wire = await openWire(model.play, random(SEED));
  wire.chooseFault = chaos();
  const options = { timeoutMs: OPEN_TIMEOUT_MS };
  await using runtime = openTaskRuntime({ url: wire.url, store, tools: [reservations.tool], retry: RETRY, options });
  const tasks = Array.from({ length: RUNS }, (_, index) => index + 1).values();
  const lane = async () => {
    for (const task of tasks) {
      const outcome = runTask({ runtime, store, agent: vendorOf(task), task });
      await outcome.then(
        (done) => outcomes.push(done),
        (thrown) => failures.push({ task, thrown }),
      );
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  report((performance.now() - startedAt) / 1000);
});

afterAll(async () => {
  await wire?.[Symbol.asyncDispose]();
  await store.close();
});

describe(`${RUNS} runs of a three-step tool agent under 30 % chaos (seed ${SEED})`, () => {
  test("every run ends naturally, with its events in order", () => {
    expect(failures).toEqual([]);
    expect(outcomes).toHaveLength(RUNS);
    expectNaturalEnd(outcomes);
  });

  test("each kind of fault happened, on every vendor's wire, to about three requests in ten", () => {
    for (const kind of FAULT_KINDS) expect(faults.get(kind) ?? 0, kind).toBeGreaterThan(0);
    expect(sum(faults.values()) / wire.requests.length).toBeGreaterThan(0.25);
    for (const name of VENDOR_NAMES) {
      expect(wire.requests.filter(({ vendor }) => vendor === name).length, name).toBeGreaterThan((RUNS / VENDOR_NAMES.length) * 4 - 4);
    }
  });

  test("every way to recover was taken", () => {
    const recovered = outcomes.map(recoveries);
    expect(sum(recovered.map((run) => run.restarted))).toBeGreaterThan(0);
    expect(sum(recovered.map((run) => run.cutShort))).toBeGreaterThan(0);
    expect(sum(recovered.map((run) => run.lostCalls))).toBeGreaterThan(0);
    expect(sum(model.continuations.values())).toBeGreaterThan(0);
  });

  test("no call ran twice, and each item was reserved exactly once", () => {
    expectOnce(
      reservations,
      outcomes.map(({ task }) => task),
    );
  });

  test("the text that the client put together is the text that is stored", () => {
    for (const outcome of outcomes) expectSameText(outcome);
  });

  test("nothing that the model said is lost or doubled", () => {
    for (const outcome of outcomes) expectMeantText(outcome);
  });

  test("every request that reached a server has each call answered by one result beside it", () => {
    const calls = wire.requests.map(({ vendor, body }) => checkAnswered(vendor, body));
    expect(Math.max(...calls)).toBe(taskItems(1).length);
  });
});
