import { type Clock, systemClock } from "@awaken/runtime";
import { memoryStore } from "@awaken/stores/memory";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkAnswered } from "./support/dialects.ts";
import { FAULT_KINDS, type FaultKind, faultOf } from "./support/faults.ts";
import { expectMeantText, expectNaturalEnd, expectOnce, expectSameText, type Outcome, runTask } from "./support/proof.ts";
import { Reservations } from "./support/reservations.ts";
import { TaskModel, taskOfBody } from "./support/task.ts";
import { openTaskRuntime } from "./support/task-runtime.ts";
import { VENDOR_NAMES } from "./support/vendors.ts";
import { openWire, type Wire, type WireRequest } from "./support/wire.ts";

const RETRY = { maxRetries: 2, backoffBaseMs: 1, overloadedBackoffBaseMs: 1, maxStreamRetries: 2, streamIdleTimeoutSecs: 2 };

let wire: Wire;
const model = new TaskModel();

beforeAll(async () => {
  wire = await openWire(model.play);
});
afterAll(() => wire?.[Symbol.asyncDispose]());

const bodiesOf = (task: number): WireRequest[] => wire.requests.filter(({ body }) => taskOfBody(body) === task);

/** In the words of each vendor's first answer, on every wire: long before its calls. */
const AMONG_WORDS = 0.35;

/** Tasks whose answers are words, then calls, without thoughts. */
const BASES = VENDOR_NAMES.map((vendor, index) => [vendor, 6000 * (index + 1) + 1] as const);

describe.each(BASES)("%s: one fault", (vendor, base) => {
  const reservations = new Reservations();
  const store = memoryStore();
  const outcomes = new Map<FaultKind, Outcome>();
  const taskOf = (kind: FaultKind): number => base + 6 * FAULT_KINDS.indexOf(kind);

  beforeAll(async () => {
    wire.chooseFault = ({ body }) => {
      const kind = FAULT_KINDS.find((candidate) => taskOf(candidate) === taskOfBody(body));
      return kind !== undefined && bodiesOf(taskOf(kind)).length === 1 ? faultOf(kind, vendor, AMONG_WORDS) : undefined;
    };
    await using runtime = openTaskRuntime({ url: wire.url, store, tools: [reservations.tool], retry: RETRY });
    const run = async (kind: FaultKind) => outcomes.set(kind, await runTask({ runtime, store, agent: vendor, task: taskOf(kind) }));
    await Promise.all(FAULT_KINDS.map(run));
  }, 30_000);
  afterAll(() => store.close());

  test.each(FAULT_KINDS)("%s: one more request, to go on or to begin again, and nothing lost", (kind) => {
    const outcome = outcomes.get(kind);
    if (outcome === undefined) throw new Error("the run did not end");
    expectNaturalEnd([outcome]);
    expectSameText(outcome);
    expectMeantText(outcome);
    const requests = bodiesOf(outcome.task);
    expect(requests).toHaveLength(5);
    for (const { body } of requests) checkAnswered(vendor, body);
    const isContinued = model.continuations.has(outcome.task);
    // What a broken connection delivered may be dropped unread, by the kernel or by the vendor's package.
    if (!kind.startsWith("cut by") || kind === "cut by end") expect(isContinued).toBe(!/^\d/.test(kind));
    if (!isContinued) expect(requests[1]?.body).toEqual(requests[0]?.body);
  });

  test("every item was reserved once", () => {
    expectOnce(reservations, FAULT_KINDS.map(taskOf));
  });

  test("Retry-After is waited for, however long it is", async () => {
    const task = base + 600;
    const waits: number[] = [];
    const jumping: Clock = {
      now: systemClock.now,
      timer(ms, fire) {
        waits.push(ms);
        return systemClock.timer(ms === 17_000 ? 0 : ms, fire);
      },
    };
    wire.chooseFault = () => (bodiesOf(task).length === 1 ? { type: "status", status: 429, retryAfter: 17 } : undefined);
    const tools = [new Reservations().tool];
    await using runtime = openTaskRuntime({ url: wire.url, store, tools, retry: RETRY, clock: jumping });
    expectNaturalEnd([await runTask({ runtime, store, agent: vendor, task })]);
    expect(waits.filter((ms) => ms === 17_000)).toHaveLength(1);
    expect(bodiesOf(task)).toHaveLength(5);
  });
});
