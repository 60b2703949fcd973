import { type Clock, systemClock } from "@awaken/runtime";
import { memoryStore } from "@awaken/stores/memory";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkAnswered } from "./support/dialects.ts";
import { FAULT_KINDS, type FaultKind, faultOf } from "./support/faults.ts";
import { expectMeantText, expectNaturalEnd, expectOnce, expectSameText, type Outcome, runTask } from "./support/proof.ts";
import { Reservations } from "./support/reservations.ts";
import { TaskModel, taskOfBody } from "./support/task.ts";
import { openTaskRuntime } from "./support/task-runtime.ts";
import { VENDOR_NAMES, type VendorName } from "./support/vendors.ts";
import { openWire, type Wire, type WireRequest } from "./support/wire.ts";

const RETRY = { maxRetries: 2, backoffBaseMs: 1, overloadedBackoffBaseMs: 1, maxStreamRetries: 2, streamIdleTimeoutSecs: 2 };
/** In the words of each vendor's first answer, on every wire: long before its calls. */
const AMONG_WORDS = 0.35;

let wire: Wire;
const model = new TaskModel();
const store = memoryStore();
const reservations = new Reservations();
const outcomes = new Map<number, Outcome>();

/** Tasks whose answers are words, then calls, without thoughts. */
const taskOf = (vendor: VendorName, kind: FaultKind): number => 6 * (100 * VENDOR_NAMES.indexOf(vendor) + FAULT_KINDS.indexOf(kind)) + 1;
const CASES = VENDOR_NAMES.flatMap((vendor) => FAULT_KINDS.map((kind) => ({ vendor, kind, task: taskOf(vendor, kind) })));

const requestsOf = (task: number): WireRequest[] => wire.requests.filter(({ body }) => taskOfBody(body) === task);

beforeAll(async () => {
  wire = await openWire(model.play);
  wire.chooseFault = ({ vendor, body }) => {
    const task = taskOfBody(body);
    const found = CASES.find((one) => one.task === task);
    return found !== undefined && requestsOf(task).length === 1 ? faultOf(found.kind, vendor, AMONG_WORDS) : undefined;
  };
  await using runtime = openTaskRuntime({ url: wire.url, store, tools: [reservations.tool], retry: RETRY });
  await Promise.all(CASES.map(async ({ vendor, task }) => outcomes.set(task, await runTask({ runtime, store, agent: vendor, task }))));
});
afterAll(async () => {
  await wire?.[Symbol.asyncDispose]();
  await store.close();
});

describe("one fault among the first words", () => {
  test.each(CASES)("$vendor, $kind: one more request, to go on or to begin again, and nothing lost", ({ vendor, kind, task }) => {
    const outcome = outcomes.get(task);
    if (outcome === undefined) throw new Error("the run did not end");
    expectNaturalEnd([outcome]);
    expectSameText(outcome);
    expectMeantText(outcome);
    const requests = requestsOf(task);
    expect(requests).toHaveLength(5);
    for (const { body } of requests) checkAnswered(vendor, body);
    const isContinued = model.continuations.has(task);
    // What a broken connection delivered may be dropped unread, by the kernel or by the vendor's package.
    if (!kind.startsWith("cut by") || kind === "cut by end") expect(isContinued).toBe(!/^\d/.test(kind));
    if (!isContinued) expect(requests[1]?.body).toEqual(requests[0]?.body);
  });

  test("every item was reserved once", () => {
    expectOnce(
      reservations,
      CASES.map(({ task }) => task),
    );
  });
});

test.each(VENDOR_NAMES)("%s: Retry-After is waited for, however long it is", async (vendor) => {
  const task = taskOf(vendor, "stall") + 120;
  const waits: number[] = [];
  const jumping: Clock = {
    now: systemClock.now,
    timer(ms, fire) {
      waits.push(ms);
      return systemClock.timer(ms === 17_000 ? 0 : ms, fire);
    },
  };
  wire.chooseFault = () => (requestsOf(task).length === 1 ? { type: "status", status: 429, retryAfter: 17 } : undefined);
  const tools = [new Reservations().tool];
  await using runtime = openTaskRuntime({ url: wire.url, store, tools, retry: RETRY, clock: jumping });
  expectNaturalEnd([await runTask({ runtime, store, agent: vendor, task })]);
  expect(waits.filter((ms) => ms === 17_000)).toHaveLength(1);
  expect(requestsOf(task)).toHaveLength(5);
});
