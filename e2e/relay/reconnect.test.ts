import type { AttachedEvent, Runtime } from "@awaken/runtime";
import { afterAll, describe, expect, test } from "vitest";
import { type Random, random } from "../inference/support/random.ts";
import { ENGINES, openShared, stopServer } from "./support/nodes.ts";
import { factsOf, Reader, wordsOf } from "./support/reader.ts";
import { openNode } from "./support/speaker.ts";

// `AWAKEN_RECONNECT_MS=60000 npx vitest run e2e/relay/reconnect.test.ts` goes on for longer; `AWAKEN_RECONNECT_SEED` plays one again.

const LENGTH_MS = Number(process.env["AWAKEN_RECONNECT_MS"] ?? 4_000);
const SEED = Number(process.env["AWAKEN_RECONNECT_SEED"] ?? 7);
const READERS = 3;

const ASKED = [
  "say",
  "look say",
  "effect say",
  "think",
  "approve say",
  "effect look approve say",
  "cut say",
  "fail",
  "look effect",
] as const;

type Nodes = readonly [Runtime, Runtime];

/** Runs on one thread, on either node; what waits is decided on either, too. */
async function work([first, second]: Nodes, numbers: Random, isTime: () => boolean): Promise<void> {
  const node = () => (numbers.below(2) === 0 ? first : second);
  while (isTime()) {
    const input = ASKED[numbers.below(ASKED.length)] ?? "say";
    let result = await node().run({ agent: "assistant", thread: "t", input });
    while (result.status === "waiting") {
      const [ticket] = result.tickets;
      const decided = await node().decide(ticket?.id ?? "", { action: numbers.below(3) === 0 ? "deny" : "approve" });
      result = await decided.result;
    }
  }
  await first.run({ agent: "assistant", thread: "t", input: "say", runId: "last" });
}

const isLast = (events: readonly AttachedEvent[]): boolean => events.some((event) => event.type === "run-end" && event.runId === "last");

/** Reads, drops at any moment, and comes back with the last cursor, on either node. What came after that cursor was not on record. */
async function follow(nodes: Nodes, numbers: Random): Promise<{ readonly seen: readonly AttachedEvent[]; readonly drops: number }> {
  const seen: AttachedEvent[] = [];
  let cursor: string | undefined;
  let drops = 0;
  while (!isLast(seen)) {
    const patience = 1 + numbers.below(numbers.below(4) === 0 ? 200 : 12);
    let [count, open]: [number, AttachedEvent[]] = [0, []];
    for await (const event of nodes[numbers.below(2)]?.attach("t", cursor === undefined ? {} : { after: cursor }) ?? []) {
      open.push(event);
      if (event.cursor !== undefined) {
        seen.push(...open);
        open = [];
        cursor = event.cursor;
      }
      if (numbers.below(30) === 0) await new Promise((resolve) => setTimeout(resolve, numbers.below(20)));
      if (++count >= patience || isLast(seen)) break;
    }
    drops++;
  }
  return { seen, drops };
}

afterAll(stopServer);

describe("server-and-durability 61: whoever drops and comes back sees each committed event once and in order", () => {
  test.each(ENGINES)("%s", { timeout: LENGTH_MS + 120_000 }, async (engine) => {
    console.log(`reconnect fuzz on ${engine}: AWAKEN_RECONNECT_SEED=${SEED}`);
    await using shared = await openShared(engine);
    await using one = openNode(shared.stores[0]);
    await using two = openNode(shared.stores[1]);
    const nodes: Nodes = [one, two];
    const end = performance.now() + LENGTH_MS;
    await one.run({ agent: "assistant", thread: "t", input: "say" });
    const readers = Array.from({ length: READERS }, (_, nth) => follow(nodes, random(SEED, nth)));
    await work(nodes, random(SEED, READERS), () => performance.now() < end);
    const whole = new Reader(one.attach("t"));
    await whole.until((event) => event.type === "run-end" && event.runId === "last");
    const all = await whole.leave();
    for (const { seen, drops } of await Promise.all(readers)) {
      expect(drops).toBeGreaterThan(0);
      expect(factsOf(seen)).toEqual(factsOf(all));
      expect(wordsOf(seen)).toEqual(wordsOf(all));
    }
  });
});
