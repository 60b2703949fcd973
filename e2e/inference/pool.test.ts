import type { Store } from "@awaken/contract/store";
import { type Clock, createRuntime, type Runtime, systemClock } from "@awaken/runtime";
import { memoryStore } from "@awaken/stores/memory";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkAnswered } from "./support/dialects.ts";
import { expectNaturalEnd, expectOnce, expectSameText, type Outcome, runTask } from "./support/proof.ts";
import { Reservations } from "./support/reservations.ts";
import { TaskModel } from "./support/task.ts";
import { SILENT } from "./support/task-runtime.ts";
import { VENDORS, type VendorName } from "./support/vendors.ts";
import { openWire, type Wire } from "./support/wire.ts";

const RETRY = { maxRetries: 2, backoffBaseMs: 1, overloadedBackoffBaseMs: 1, maxStreamRetries: 2 };
/** Longer than a breaker stays open. */
const COOLDOWN_MS = 60_000;

const PAIRS: readonly (readonly [VendorName, VendorName])[] = [
  ["openai", "anthropic"],
  ["anthropic", "google"],
  ["google", "openai"],
];

interface Duo extends AsyncDisposable {
  readonly home: Wire;
  readonly other: Wire;
  readonly store: Store;
  readonly runtime: Runtime;
  readonly reservations: Reservations;
  /** Moves the clock on, beyond what really passed. */
  skip(ms: number): void;
}

/** Two vendors at two addresses, one pool; every conversation begins with the first. */
async function openDuo(first: VendorName, second: VendorName): Promise<Duo> {
  const [home, other] = await Promise.all([openWire(new TaskModel().play), openWire(new TaskModel().play)]);
  const store = memoryStore();
  const reservations = new Reservations();
  let skipped = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + skipped };
  const runtime = createRuntime({
    providers: { first: VENDORS[first].provider({ url: home.url }), second: VENDORS[second].provider({ url: other.url }) },
    models: { one: { provider: "first", model: VENDORS[first].model }, two: { provider: "second", model: VENDORS[second].model } },
    pools: { duo: { members: [{ model: "one" }, { model: "two" }], routing: { home: "first-healthy" } } },
    agents: { agent: { model: "duo", instructions: "Reserve.", sections: { retry: RETRY } } },
    tools: [reservations.tool],
    store,
    clock,
    log: SILENT,
  });
  return {
    home,
    other,
    store,
    runtime,
    reservations,
    skip: (ms) => {
      skipped += ms;
    },
    async [Symbol.asyncDispose]() {
      await runtime[Symbol.asyncDispose]();
      await Promise.all([home[Symbol.asyncDispose](), other[Symbol.asyncDispose](), store.close()]);
    },
  };
}

/** Tasks that think first: their reasoning is signed by the vendor that it came from. */
const TASKS = [3, 9, 15, 21] as const;

interface Conversation {
  readonly outcomes: readonly Outcome[];
  /** How many requests each server had seen after each run. */
  readonly asked: readonly { readonly home: number; readonly other: number }[];
}

/** Four runs on one thread. The first server dies in the second run, in the middle of its second answer, and is back for the last run. */
async function converse({ runtime, store, home, other, skip }: Duo): Promise<Conversation> {
  const outcomes: Outcome[] = [];
  const asked: { home: number; other: number }[] = [];
  const run = async (task: number) => {
    outcomes.push(await runTask({ runtime, store, agent: "agent", task, thread: "conversation" }));
    asked.push({ home: home.requests.length, other: other.requests.length });
  };
  await run(TASKS[0]);
  const before = home.requests.length;
  home.chooseFault = () => {
    if (home.requests.length < before + 2) return undefined;
    setTimeout(() => void home.die(), 20);
    return { type: "stall", at: 0.5 };
  };
  await run(TASKS[1]);
  home.chooseFault = () => undefined;
  await run(TASKS[2]);
  await home.revive();
  skip(COOLDOWN_MS);
  await run(TASKS[3]);
  return { outcomes, asked };
}

describe.each(PAIRS)("a pool of %s and %s: the first dies in the middle of an answer", (first, second) => {
  let duo: Duo;
  let conversation: Conversation;

  beforeAll(async () => {
    duo = await openDuo(first, second);
    conversation = await converse(duo);
  });
  afterAll(() => duo?.[Symbol.asyncDispose]());

  test("the conversation goes on with the other, as if nothing had happened", () => {
    expectNaturalEnd(conversation.outcomes);
    for (const outcome of conversation.outcomes) expectSameText(outcome);
    expectOnce(duo.reservations, TASKS);
  });

  test("the first served until it died, in the second step of the second run", () => {
    const { asked } = conversation;
    expect(asked[0]).toEqual({ home: 4, other: 0 });
    expect(asked[1]?.home).toBe(6);
    expect(asked[1]?.other).toBeGreaterThanOrEqual(3);
  });

  test("the conversation stays there, also when the first is back and would be admitted", () => {
    const { asked } = conversation;
    expect(asked.slice(1).map(({ home }) => home)).toEqual([6, 6, 6]);
    expect((asked[2]?.other ?? 0) - (asked[1]?.other ?? 0)).toBe(4);
    expect((asked[3]?.other ?? 0) - (asked[2]?.other ?? 0)).toBe(4);
  });

  test("a new conversation goes home again", async () => {
    const { runtime, store, home, other } = duo;
    const before = other.requests.length;
    expectNaturalEnd([await runTask({ runtime, store, agent: "agent", task: 27, thread: "another" })]);
    expect([home.requests.length, other.requests.length]).toEqual([10, before]);
  });

  test("the other gets the whole history in its own dialect, and nothing that the first one signed", () => {
    for (const { vendor, body } of [...duo.home.requests, ...duo.other.requests]) checkAnswered(vendor, body);
    const taken = duo.other.requests[0]?.body ?? {};
    expect(checkAnswered(second, taken)).toBeGreaterThanOrEqual(8);
    expect(JSON.stringify(taken)).not.toMatch(/signed-3|YWltb2NrLWVuY3J5cHRlZC1yZWFzb25pbmc6/);
  });
});

test.each(PAIRS)("a pool of %s and %s: an overload inside the first one's stream moves the conversation at once", async (first, second) => {
  await using duo = await openDuo(first, second);
  const { home, other, runtime, store, reservations } = duo;
  home.chooseFault = ({ vendor }) => (home.requests.length === 2 ? { type: "overload", vendor, at: 0.5 } : undefined);
  const outcome = await runTask({ runtime, store, agent: "agent", task: 1 });
  expectNaturalEnd([outcome]);
  expectSameText(outcome);
  expectOnce(reservations, [1]);
  expect(home.requests).toHaveLength(2);
  expect(other.requests.length).toBeGreaterThanOrEqual(3);
  for (const { vendor, body } of [...home.requests, ...other.requests]) checkAnswered(vendor, body);
});
