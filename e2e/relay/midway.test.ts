import { messageText, type RunId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { ask, defineTool, type Runtime } from "@awaken/runtime";
import { fakeClock, parts, toolCalls } from "@awaken/runtime/testing";
import { afterAll, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { ENGINES, openShared, stopServer } from "./support/nodes.ts";
import { factsOf, Reader, readAll } from "./support/reader.ts";
import { openNode, speaker } from "./support/speaker.ts";

// Readers who come, or come back, in the middle of a run.

afterAll(stopServer);

const EMPTY = z.object({});
const STOP = { type: "stop", reason: "end-turn" } as const;
const call = (name: string) => ({ id: name, name, input: {} });
const say = (delta: string) => ({ type: "text-delta", delta }) as const;

/** Until then a call of the first round is not over, and of the answer behind it only one half is said. */
interface Gates {
  readonly round?: Promise<void>;
  readonly answer?: Promise<void>;
}

/** It uses what it is asked for in one round, and says something then. */
function house(store: QueueStore, { round = Promise.resolve(), answer = Promise.resolve() }: Gates): Runtime {
  const sign = defineTool({ id: "sign", description: "Signs", input: EMPTY, approve: () => ask("May I?"), execute: () => "signed" });
  const wait = defineTool({ id: "wait", description: "Waits", input: EMPTY, execute: () => round.then(() => "waited") });
  const house = speaker(({ messages }) => {
    const last = messages.findLast(({ role }) => role === "user");
    if (messages.at(-1) === last && last !== undefined) return toolCalls(messageText(last).split(" ").map(call));
    return parts(say("One half, "), { type: "until", promise: answer }, say("and the other."), STOP);
  });
  return openNode(store, { tools: [sign, wait], providers: { house } });
}

const ticketOf = (store: QueueStore, run: RunId) =>
  vi.waitFor(async () => (await store.runs.listOpenTickets(run))[0]?.id ?? expect.fail("nothing asks"), { timeout: 60_000, interval: 10 });

describe.each(ENGINES)("in the middle of a run, on %s", (engine) => {
  test.each(["the run", "the thread"])(
    "a decision that %s took while it went on is told to whoever left before and comes back when it is over",
    async (what) => {
      await using shared = await openShared(engine);
      const [store, peer] = shared.stores;
      const { promise: round, resolve: goOn } = Promise.withResolvers<void>();
      await using here = house(store, { round });
      await using there = house(peer, { round });
      const run = here.stream({ agent: "assistant", thread: "t", input: "sign wait" });
      const follower = new Reader(here.attach(run.id));
      const ticket = await ticketOf(store, run.id);
      await here.decide(ticket, { action: "approve" });
      goOn();
      expect(await run.result).toMatchObject({ status: "done" });
      await follower.ended;
      const id = what === "the run" ? run.id : "t";
      const all = await readAll(here, id);
      expect(factsOf(all).filter(({ type }) => type === "run-start")).toHaveLength(1);
      expect(factsOf(all)).toContainEqual(expect.objectContaining({ type: "decision-taken", ticketId: ticket }));
      for (const [index, { cursor }] of all.entries()) {
        if (cursor === undefined) continue;
        expect(await readAll(there, id, cursor), `behind ${cursor}`).toEqual(all.slice(index + 1));
      }
    },
  );

  test("server-and-durability 56: whoever comes from now on while a run begins is told what it says, with the places that all others have", async () => {
    await using shared = await openShared(engine);
    const [store, peer] = shared.stores;
    const { promise: answer, resolve: goOn } = Promise.withResolvers<void>();
    await using here = house(store, { answer });
    let isNext = true;
    /** When he asks for the end of the log, the run has come as far as its answer. */
    const loadHead: QueueStore["events"]["loadHead"] = async (scope) => {
      if (isNext) {
        isNext = false;
        const run = here.stream({ agent: "assistant", thread: "t", input: "wait" });
        await new Reader(here.attach(run.id)).until(({ type }) => type === "text-delta");
      }
      return peer.events.loadHead(scope);
    };
    await using there = house({ ...peer, events: { ...peer.events, loadHead } }, {});
    await there.run({ agent: "assistant", thread: "t", input: "wait" });
    const follower = new Reader(there.attach("t", { from: "now" }));
    // While it is not on record.
    await follower.until((event) => event.type === "text-delta" && event.delta === "One half, ");
    goOn();
    await follower.until(({ type }) => type === "run-end");
    const seen = (await follower.leave()).flatMap(({ cursor }) => cursor ?? []);
    const whole = (await readAll(here, "t")).flatMap(({ cursor }) => cursor ?? []);
    expect(seen).toEqual(whole.slice(-seen.length));
  });

  test("whoever comes when the beginning of a run was swept is told what it says as it says it", async () => {
    const clock = fakeClock(1_700_000_000_000);
    await using shared = await openShared(engine, { clock: () => clock.now() });
    const [store, peer] = shared.stores;
    const [round, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await using here = house(store, { round: round.promise, answer: answer.promise });
    await using there = openNode(peer);
    const run = here.stream({ agent: "assistant", thread: "t", input: "wait" });
    const live = new Reader(run);
    await live.until(({ type }) => type === "tool-call-run");
    await clock.advance(1_000);
    await store.sweep({ eventsMs: 10 });
    round.resolve();
    await live.until(({ type }) => type === "text-delta");
    const followers = [here, there].map((node) => new Reader(node.attach("t")));
    for (const follower of followers) {
      // While it is not on record.
      await follower.until(({ type }) => type === "text-delta");
      expect(follower.events.map(({ type }) => type)).not.toContain("run-start");
    }
    answer.resolve();
    for (const follower of followers) {
      await follower.until(({ type }) => type === "run-end");
      expect(factsOf(await follower.leave())).toEqual(factsOf(await readAll(there, "t")));
    }
  });
});
