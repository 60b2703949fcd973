import { type AgentEvent, messageText, runId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { ask, defineTool, type Runtime, type RuntimeInit } from "@awaken/runtime";
import { fakeClock, parts, text, toolCall } from "@awaken/runtime/testing";
import { afterAll, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { checkFollowed } from "./support/judge.ts";
import { ENGINES, openShared, stopServer } from "./support/nodes.ts";
import { factsOf, Reader, readAll } from "./support/reader.ts";
import { openNode, speaker } from "./support/speaker.ts";

// A run in the background asks when the run that sent it out is over, and another one speaks.

afterAll(stopServer);

const EMPTY = z.object({});
const STOP = { type: "stop", reason: "end-turn" } as const;
const say = (delta: string) => ({ type: "text-delta", delta }) as const;

interface Gates {
  /** Until then the first run is at work. */
  readonly sent: Promise<void>;
  /** Until then the run in the background says nothing. */
  readonly asks: Promise<void>;
  /** Until then only one half of the second answer is said. */
  readonly answer: Promise<void>;
}

/** The first run sends a clerk out; the second one notes something, and talks. */
function house(store: QueueStore, { sent, asks, answer }: Gates, init: Partial<RuntimeInit> = {}): Runtime {
  const sendOut = defineTool({
    ...{ id: "send_out", description: "Sends a clerk out", input: EMPTY },
    execute: async (_, { tasks }) => {
      await sent;
      return tasks.spawnAgent({ agent: "clerk", name: "clerk", input: "sign" });
    },
  });
  const note = defineTool({ id: "note", description: "Notes", input: EMPTY, execute: () => "noted" });
  const sign = defineTool({
    id: "sign",
    description: "Signs",
    input: EMPTY,
    approve: () => asks.then(() => ask("May I?")),
    execute: () => "signed",
  });
  const lead = speaker(({ messages }) => {
    const last = messages.findLast(({ role }) => role === "user");
    if (last !== undefined && messageText(last) === "talk" && messages.at(-1) !== last)
      return parts(say("One half, "), { type: "until", promise: answer }, say("and the other."), STOP);
    const asked = last === undefined ? "" : messageText(last);
    return messages.at(-1) === last ? toolCall(asked === "talk" ? "note" : "send_out", {}, { id: asked }) : text("sent");
  });
  const clerk = speaker(({ messages }) => (messages.at(-1)?.role === "user" ? toolCall("sign", {}, { id: "p1" }) : text("signed")));
  return openNode(store, {
    tools: [sendOut, note, sign],
    providers: { lead, clerk },
    models: { lead: { provider: "lead", model: "m" }, clerk: { provider: "clerk", model: "m" } },
    agents: { lead: { model: "lead", tools: ["send_out", "note"] }, clerk: { model: "clerk", tools: ["sign"] } },
    ...init,
  });
}

const gate = () => Promise.withResolvers<void>();

const ticketOf = (store: QueueStore, run: string) =>
  vi.waitFor(async () => (await store.runs.listOpenTickets(runId(run)))[0]?.id ?? expect.fail("nothing asks"), {
    timeout: 60_000,
    interval: 10,
  });

describe.each(ENGINES)("a run in the background that asks, on %s", (engine) => {
  test("of a run that is over, whoever reads it later is told what whoever followed it was: its end is the last of it", async () => {
    await using shared = await openShared(engine);
    const [store, peer] = shared.stores;
    const [sent, asks, answer] = [gate(), gate(), gate()];
    const gates = { sent: sent.promise, asks: asks.promise, answer: answer.promise };
    await using here = house(store, gates, { workers: true });
    await using there = house(peer, gates);
    const { runId: first } = await here.start({ agent: "lead", thread: "t", input: "send" });
    const follower = new Reader(there.attach(first));
    const { runId: second } = await here.start({ agent: "lead", thread: "t", input: "talk" });
    sent.resolve();
    await follower.ended;
    const onThread = new Reader(here.attach("t"));
    await onThread.until(({ type }) => type === "text-delta");
    asks.resolve();
    const ticket = await ticketOf(store, first);
    await here.decide(ticket, { action: "approve" });
    await onThread.until((event) => event.type === "decision-taken" && event.ticketId === ticket);
    answer.resolve();
    await here.wait(second);
    const all = await readAll(there, first);
    expect(all.at(-1)).toMatchObject({ type: "run-end", runId: first });
    expect(factsOf(all)).toEqual(factsOf(follower.events));
    expect(await readAll(there, first, follower.cursor)).toEqual([]);
    expect(await readAll(there, first, all.at(-1)?.cursor)).toEqual([]);
  });

  test("its ticket is told as soon as it is on record, where it stands in the log, also inside of the answer of another run", async () => {
    await using shared = await openShared(engine);
    const [store, peer] = shared.stores;
    const [sent, asks, answer] = [gate(), gate(), gate()];
    const gates = { sent: sent.promise, asks: asks.promise, answer: answer.promise };
    await using here = house(store, gates, { workers: true });
    // Here no time passes.
    await using there = house(peer, gates, { clock: fakeClock(Date.now()) });
    const { runId: first } = await here.start({ agent: "lead", thread: "t", input: "send" });
    const { runId: second } = await here.start({ agent: "lead", thread: "t", input: "talk" });
    const followers = [here, there].map((node) => new Reader(node.attach("t")));
    sent.resolve();
    await followers[0]?.until((event) => event.type === "text-delta" && event.delta === "One half, ");
    asks.resolve();
    const isTicket = (event: AgentEvent) => event.type === "ticket-open" && event.ticket.rootRunId === first;
    for (const follower of followers) await follower.until(isTicket);
    answer.resolve();
    await here.wait(second);
    const all = await readAll(there, "t");
    for (const follower of followers) {
      await follower.until((event) => event.type === "run-end" && event.runId === second);
      checkFollowed(follower.events);
      const seen = factsOf(await follower.leave());
      expect(seen).toEqual(factsOf(all).slice(0, seen.length));
    }
  });
});
