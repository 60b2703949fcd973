import { createClient } from "@awaken/client";
import { type AgentEvent, messageId, runId, threadId } from "@awaken/contract";
import { afterAll, describe, expect, test } from "vitest";
import { openServer } from "../server/support/client.ts";
import { ENGINES, openShared, stopServer } from "./support/nodes.ts";
import { factsOf, Reader, readAll } from "./support/reader.ts";
import { openNode } from "./support/speaker.ts";

afterAll(stopServer);

const T = threadId("t");
const isRewound = ({ type }: AgentEvent): boolean => type === "thread-rewound";
const user = (id: string, content: string) => [{ role: "user", content, id }] as const;

describe.each(ENGINES)("a thread that is rewound, on %s", (engine) => {
  test("whoever follows it is told which message is gone, in another process and through the client; runs that waited there end before", async () => {
    await using shared = await openShared(engine);
    const [store, peer] = shared.stores;
    await using here = openNode(store, { workers: false });
    await using there = openNode(peer, { workers: false });
    await here.run({ agent: "assistant", thread: "t", input: user("m1", "say") });
    const leaving = new AbortController();
    const client = createClient({ url: "http://localhost", fetch: openServer({ runtime: there }).fetch });
    const follower = new Reader(there.attach("t"));
    const remote = new Reader(client.attach("t", { signal: leaving.signal }));
    await here.run({ agent: "assistant", thread: "t", input: user("m2", "say") });
    await here.rewind("t", { toMessageId: "m2" });
    const gone = { type: "thread-rewound", threadId: "t", messageId: "m2", cursor: expect.any(String) };
    expect(await follower.until(isRewound)).toEqual(gone);
    expect(await remote.until(isRewound)).toEqual(gone);

    const waiting = await here.run({ agent: "assistant", thread: "t", input: user("m3", "approve say") });
    expect(waiting.status).toBe("waiting");
    await here.rewind("t", { toMessageId: "m3" });
    await follower.until((event) => event.type === "thread-rewound" && event.messageId === "m3");
    const seen = await follower.leave();
    expect(seen.slice(-2)).toMatchObject([
      { type: "run-end", runId: waiting.runId, result: { status: "cancelled" } },
      { type: "thread-rewound", messageId: "m3" },
    ]);
    leaving.abort();
    await remote.leave();
    expect(factsOf(await readAll(there, "t"))).toEqual(factsOf(seen));
  });

  test("each row that a rewind writes is a fact of its own, also on a thread on which nobody ran", async () => {
    await using shared = await openShared(engine);
    const [store] = shared.stores;
    await using runtime = openNode(store, { workers: false });
    const messages = ["m1", "m2"].map((id) => ({
      id: messageId(id),
      role: "user" as const,
      content: [{ type: "text" as const, text: id }],
    }));
    await store.threads.create({ id: T });
    await store.commit({ threadId: T, runId: runId("brought"), messageDelta: { messages, expectedMessageCount: 0 }, events: [] });
    const follower = new Reader(runtime.attach("t"));
    await runtime.rewind("t", { toMessageId: "m2" });
    const gone = await follower.until(isRewound);
    expect(gone).toEqual({ type: "thread-rewound", threadId: "t", messageId: "m2", cursor: expect.any(String) });
    await follower.leave();
    // Whoever comes back behind it is not told again, and hears of the next run.
    const later = new Reader(runtime.attach("t", { after: gone.cursor ?? expect.fail() }));
    const rows = (await store.messages.list(T, { visibility: "all" })).items;
    const facts = (await store.events.list({ type: "thread", threadId: T }, {})).items;
    expect(facts.map(({ kind }) => kind)).toEqual(["message-committed", "thread-rewound"]);
    expect(facts[0]?.payload).toMatchObject({ messageId: rows.at(-1)?.message.id, messageSeq: 3, messageKind: "internal-system" });
    expect(facts[1]?.payload).toEqual({ threadId: "t", messageId: "m2" });
    await runtime.run({ agent: "assistant", thread: "t", input: "say" });
    await later.until(({ type }) => type === "run-end");
    expect((await later.leave())[0]).toMatchObject({ type: "run-start" });
  });
});
