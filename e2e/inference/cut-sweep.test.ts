import { memoryStore } from "@awaken/stores/memory";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkAnswered } from "./support/dialects.ts";
import { expectMeantText, expectNaturalEnd, expectOnce, expectSameText, type Outcome, recoveries, runTask } from "./support/proof.ts";
import { Reservations } from "./support/reservations.ts";
import { TaskModel, taskOfBody } from "./support/task.ts";
import { openTaskRuntime } from "./support/task-runtime.ts";
import { VENDOR_NAMES } from "./support/vendors.ts";
import { openWire, type Wire } from "./support/wire.ts";

const CUTS = 40;
const RETRY = { maxRetries: 2, backoffBaseMs: 1, maxStreamRetries: 2 };

/** Tasks whose answers are words, then calls, without thoughts: the later the cut, the more of it can be kept. */
const taskOf = (cut: number): number => 6 * cut + 1;
const cutOf = (task: number): number => (task - 1) / 6;

let wire: Wire;
const model = new TaskModel();

beforeAll(async () => {
  wire = await openWire(model.play);
});
afterAll(() => wire?.[Symbol.asyncDispose]());

describe.each(VENDOR_NAMES)("%s: the first answer is cut at 40 places, from its first byte to its last", (agent) => {
  const reservations = new Reservations();
  const store = memoryStore();
  const outcomes: Outcome[] = [];

  beforeAll(async () => {
    const seen = new Set<number>();
    wire.requests.length = 0;
    model.continuations.clear();
    wire.chooseFault = ({ body }) => {
      const task = taskOfBody(body);
      if (seen.has(task)) return undefined;
      seen.add(task);
      return { type: "cut", how: "end", at: cutOf(task) / CUTS };
    };
    await using runtime = openTaskRuntime({ url: wire.url, store, tools: [reservations.tool], retry: RETRY });
    const tasks = Array.from({ length: CUTS }, (_, cut) => taskOf(cut));
    outcomes.push(...(await Promise.all(tasks.map((task) => runTask({ runtime, store, agent, task })))));
  });
  afterAll(() => store.close());

  /** 0 asked the same again, 1 went on after words, 2 went on and dropped a call, 3 ran what came whole, 4 had it all. */
  const planOf = (outcome: Outcome): number => {
    const { restarted, cutShort, lostCalls } = recoveries(outcome);
    if (cutShort > 0) return 3;
    if (model.continuations.has(outcome.task)) return lostCalls > 0 ? 2 : 1;
    const requests = wire.requests.filter(({ body }) => taskOfBody(body) === outcome.task).length;
    return restarted > 0 || requests > outcome.followed.result.steps ? 0 : 4;
  };

  test("the later the cut, the more is kept", () => {
    const plans = outcomes.map(planOf);
    expect(plans).toEqual(plans.toSorted());
    expect(new Set(plans)).toEqual(new Set(agent === "google" ? [0, 1, 3] : [0, 1, 2, 3]));
  });

  test("no cut loses, doubles or repeats anything", () => {
    expectNaturalEnd(outcomes);
    for (const outcome of outcomes) expectSameText(outcome);
    for (const outcome of outcomes) expectMeantText(outcome);
    expectOnce(
      reservations,
      outcomes.map(({ task }) => task),
    );
    for (const { vendor, body } of wire.requests) checkAnswered(vendor, body);
  });
});
