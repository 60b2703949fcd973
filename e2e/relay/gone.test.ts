import { threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { afterAll, describe, expect, test } from "vitest";
import { ENGINES, openShared, stopServer } from "./support/nodes.ts";
import { Reader, readAll } from "./support/reader.ts";
import { openNode } from "./support/speaker.ts";

// What is followed is deleted, or the runtime that it is followed on is closed.

afterAll(stopServer);

const refusal = (reader: Reader): Promise<unknown> =>
  reader.ended.then(
    () => "the end",
    (thrown: unknown) => thrown,
  );

const GONE = expect.objectContaining({ code: "run_not_found" });

/** The same store, which answers one kind of request when it is told to. */
function slow(
  store: QueueStore,
  what: "list" | "load",
  until: Promise<void>,
): { readonly store: QueueStore; readonly asked: Promise<void> } {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  const wait = async () => {
    resolve();
    await until;
  };
  const list: QueueStore["events"]["list"] = (...query) => wait().then(() => store.events.list(...query));
  const load: QueueStore["threads"]["load"] = (id) => wait().then(() => store.threads.load(id));
  const changed = what === "list" ? { events: { ...store.events, list } } : { threads: { ...store.threads, load } };
  return { store: { ...store, ...changed }, asked };
}

describe.each(ENGINES)("on %s", (engine) => {
  test("whoever follows a thread that is deleted is told that it is gone, whatever he has read of it", async () => {
    await using shared = await openShared(engine);
    const [store, peer] = shared.stores;
    await using here = openNode(store);
    await using there = openNode(peer);
    await here.run({ agent: "assistant", thread: "t", input: "say" });
    await store.threads.create({ id: threadId("empty") });
    const readers = [here, there].flatMap((node) => ["t", "empty"].map((id) => new Reader(node.attach(id))));
    for (const node of [here, there]) for (const id of ["t", "empty"]) await readAll(node, id);
    for (const reader of readers.filter((_, index) => index % 2 === 0)) await reader.until(({ type }) => type === "run-end");
    for (const id of ["t", "empty"]) await store.threads.delete(threadId(id), "detach");
    for (const reader of readers) expect(await refusal(reader)).toEqual(GONE);
  });

  test.each(["the end of what he reads", "its log"])("he is told so too when it goes before he has %s", async (what) => {
    await using shared = await openShared(engine);
    const [store, peer] = shared.stores;
    const { promise: deleted, resolve } = Promise.withResolvers<void>();
    const { store: late, asked } = slow(peer, "list", deleted);
    await using here = openNode(store);
    await using there = openNode(late);
    await here.run({ agent: "assistant", thread: "t", input: "say" });
    const { cursor: after } = (await readAll(here, "t")).at(-1) ?? expect.fail();
    const reader = new Reader(there.attach("t", what === "its log" || after === undefined ? {} : { after }));
    await asked;
    await store.threads.delete(threadId("t"), "detach");
    resolve();
    expect(await refusal(reader)).toEqual(GONE);
  });

  test.each(["list", "load"] as const)(
    "whoever reads while the runtime is closed comes to the end, also when the store does not answer: %s",
    async (what) => {
      await using shared = await openShared(engine);
      const [store, peer] = shared.stores;
      const { promise: closed, resolve } = Promise.withResolvers<void>();
      const { store: late, asked } = slow(peer, what, closed);
      await using here = openNode(store);
      const there = openNode(late);
      const { runId } = await here.run({ agent: "assistant", thread: "t", input: "say" });
      const readers = ["t", runId].map((id) => new Reader(there.attach(id)));
      await asked;
      const closing = there.close();
      for (const reader of readers) expect(await refusal(reader)).toBe("the end");
      resolve();
      await closing;
      expect(await refusal(new Reader(there.attach("t")))).toEqual(
        expect.objectContaining({ code: "cancelled", message: "the runtime is closed" }),
      );
    },
  );

  test("whoever follows a run that waits in the queue is told its end, also when nobody rings and he has just looked", async () => {
    await using shared = await openShared(engine);
    const [store, peer] = shared.stores;
    // Nobody executes it.
    await using here = openNode(store, { workers: false });
    const { runId } = await here.start({ agent: "assistant", thread: "t", input: "say" });
    let isRead = false;
    const list: QueueStore["events"]["list"] = async (...query) => {
      const page = await peer.events.list(...query);
      isRead = true;
      return page;
    };
    const load: QueueStore["runs"]["load"] = async (id) => {
      if (isRead) {
        isRead = false;
        await here.cancel(runId);
      }
      return peer.runs.load(id);
    };
    const { live, ...deaf } = { ...peer, events: { ...peer.events, list }, runs: { ...peer.runs, load } };
    await using there = openNode(live === undefined ? deaf : { ...deaf, live: { ...live, follow: () => () => {} } }, { workers: false });
    const reader = new Reader(there.attach(runId));
    await reader.ended;
    expect(reader.events.map(({ type }) => type)).toEqual(["run-end"]);
  });
});
