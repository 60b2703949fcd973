import { runId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { text, toolCall } from "awaken/testing";
import { expect } from "vitest";
import { logOf, open, pay, slow, T } from "./support/open.ts";
import { deaf, onEveryStore } from "./support/stores.ts";

/** The next transaction waits until somebody lets it go on, after it has looked. */
function heldBack(store: QueueStore) {
  const looked = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  let isFirst = true;
  const held: QueueStore = {
    ...store,
    transaction: (work) =>
      store.transaction(async (ports) => {
        if (!isFirst) return work(ports);
        isFirst = false;
        const load: typeof ports.threads.load = async (id) => {
          const found = await ports.threads.load(id);
          looked.resolve();
          await goOn.promise;
          return found;
        };
        return work({ ...ports, threads: { ...ports.threads, load } });
      }),
  };
  return { store: held, looked: looked.promise, goOn: goOn.resolve };
}

const settled = async (store: QueueStore): Promise<void> => {
  await expect.poll(async () => store.dispatches.countByStatus()).toMatchObject({ queued: 0, claimed: 0, "dead-letter": 0 });
  expect((await store.pending.load(T)).entries).toEqual([]);
};

onEveryStore("messages that are sent", (it) => {
  it("steer to a run that ends between look and write is read by a run of its own", async ({ store, peer }) => {
    const last = slow();
    await using a = open(deaf(store), [toolCall("slow", {}), text("ended")], { tools: [last.tool] });
    const run = a.stream({ thread: "t", input: "go" });
    await last.began;
    const held = heldBack(peer);
    await using b = open(held.store, []);
    const sent = b.send("t", "by the way", { mode: "steer" });
    await held.looked;
    last.release();
    // Where a transaction keeps all others out, the run ends behind it; elsewhere before it.
    await Promise.race([run.result, new Promise((resolve) => setTimeout(resolve, 500))]);
    held.goOn();
    expect(["steered", "queued"]).toContain((await sent).status);
    await run.result;
    await using _worker = open(store, [text("answered")], { workers: true, tools: [last.tool] });
    await expect.poll(() => logOf(store)).toContain("by the way");
    await settled(store);
  });

  it("what is sent behind tickets to a run that ends between look and write is read too", async ({ store, peer }) => {
    await using a = open(deaf(store), [toolCall("pay", {}), text("paid")], { tools: [pay] });
    const first = await a.run({ thread: "t", input: "pay" });
    const ticket = first.status === "waiting" ? (first.tickets[0]?.id ?? "") : "";
    const held = heldBack(peer);
    await using b = open(held.store, []);
    const sent = b.send("t", "by the way", { mode: "queue" });
    await held.looked;
    const ended = a.decide(ticket, { action: "approve" }).then((run) => run.result);
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 500))]);
    held.goOn();
    expect(["behind-tickets", "queued"]).toContain((await sent).status);
    await ended;
    await using _worker = open(store, [text("answered")], { workers: true, tools: [pay] });
    await expect.poll(() => logOf(store)).toContain("by the way");
    await settled(store);
  });

  it("however a steer and the end of its run race, the message is read once", async ({ store, peer }) => {
    await using worker = open(
      store,
      Array.from({ length: 24 }, () => text("answer")),
      { workers: true },
    );
    await using b = open(peer, []);
    for (let round = 0; round < 8; round++) {
      const run = worker.stream({ thread: "t", input: `ask ${round}` });
      const sent = await b.send("t", `steer ${round}`, { mode: "steer" });
      await run.result.catch(() => undefined);
      expect(sent.status).not.toBe("refused");
      await expect.poll(async () => (await logOf(store)).filter((said) => said === `steer ${round}`)).toHaveLength(1);
      await settled(store);
    }
  });

  it("a message that comes while the run of an earlier one has looked already gets a run too", async ({ store, peer }) => {
    await using b = open(peer, []);
    const first = await b.send("t", "one", { mode: "queue" });
    const [entry] = (await b.pending.list("t")).entries;
    // Claimed, and nothing to do: what it was for is taken back.
    const claimed = (await store.dispatches.claim(T, { consumer: "n", leaseMs: 60_000 }))?.dispatch;
    await b.pending.retract("t", entry?.pendingId ?? "", 1);
    const second = await b.send("t", "two", { mode: "queue" });
    expect(second.runId).not.toBe(first.runId);
    const third = await b.send("t", "three", { mode: "queue" });
    expect(third.runId).toBe(second.runId);
    await store.dispatches.ack({ dispatchId: claimed?.dispatchId ?? expect.fail(), claimToken: claimed?.claimToken ?? "" });
    await using _worker = open(store, [text("both")], { workers: true });
    await expect.poll(async () => (await store.runs.load(second.runId ?? runId("none")))?.status).toBe("done");
    expect(await logOf(store)).toEqual(["two", "three", "both"]);
    await settled(store);
  });

  it("what a run is steered by under its id is for nobody else, also behind its tickets", async ({ store, peer }) => {
    await using a = open(store, [toolCall("pay", {}), text("never mind"), text("next")], { tools: [pay] });
    await using b = open(peer, []);
    const first = await a.run({ thread: "t", input: "pay" });
    expect(await b.send(first.runId, "for you", { mode: "steer" })).toMatchObject({ status: "behind-tickets", runId: first.runId });
    expect(await a.cancel(first.runId)).toBe(true);
    await expect.poll(async () => (await store.runs.load(first.runId))?.status).toBe("done");
    expect(await a.run({ thread: "t", input: "something else" })).toMatchObject({ status: "done" });
    expect(await logOf(store)).not.toContain("for you");
    expect((await b.pending.list("t")).entries).toHaveLength(1);
  });

  it("ids and modes that cannot be are refused by a code, and nothing is kept", async ({ store, peer }) => {
    await using a = open(store, []);
    await using b = open(peer, [text("x")]);
    const queue = { mode: "queue" } as const;
    await expect(b.send("", "x", queue)).rejects.toMatchObject({ code: "invalid_id" });
    await expect(b.send("  ", "x", { mode: "interrupt" })).rejects.toMatchObject({ code: "invalid_id" });
    await expect(b.send(JSON.parse("7"), "x", queue)).rejects.toMatchObject({ code: "invalid_id" });
    await expect(b.send("t", "x", JSON.parse('{"mode":"loud"}'))).rejects.toMatchObject({ code: "invalid_activation" });
    await expect(b.send("t", JSON.parse('[{"role":"user"}]'), queue)).rejects.toMatchObject({ code: "invalid_activation" });
    await b.run({ thread: "u", runId: "t", input: "x" });
    await a.send("t", "to the run's thread", queue);
    expect((await store.pending.load(T)).entries).toEqual([]);
    await store.threads.create({ id: T });
    await expect(b.send("t", "x", queue)).rejects.toMatchObject({ code: "ambiguous_id" });
    await expect(b.pending.list("")).rejects.toMatchObject({ code: "invalid_id" });
    expect(await b.pending.list("nobody")).toMatchObject({ entries: [] });
    expect(await store.runs.load(runId("nobody"))).toBeUndefined();
  });
});
