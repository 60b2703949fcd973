import { AwakenError } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { defineTool } from "@awaken/runtime";
import { memoryStore } from "@awaken/stores/memory";
import { expect, test } from "vitest";
import * as z from "zod";
import { openNode } from "../relay/support/speaker.ts";
import { endOf, hello, stream } from "./support/busy.ts";
import { ask, openServer, readFrames, request } from "./support/client.ts";

/** A store that reads and, while it is full, does not write, as SQLite on a disk that is. */
function filling(store: QueueStore) {
  let isFull = false;
  const unless = async <T>(work: () => Promise<T>): Promise<T> => {
    if (isFull) throw new AwakenError("storage_io", "SQLite database '/srv/a.db': the disk is full");
    return work();
  };
  type Writing = Pick<QueueStore, "commit" | "transaction" | "wishes">;
  const wrap = <Records extends Writing>(records: Records): Records => ({
    ...records,
    commit: (...given: Parameters<QueueStore["commit"]>) => unless(() => records.commit(...given)),
    transaction: <T>(work: Parameters<typeof records.transaction<T>>[0]) => unless(() => records.transaction(work)),
    wishes: {
      ...records.wishes,
      append: (...given: Parameters<typeof records.wishes.append>) => unless(() => records.wishes.append(...given)),
    },
  });
  const setFull = (next: boolean) => {
    isFull = next;
  };
  return { store: { ...wrap(store), scoped: (scope: Parameters<QueueStore["scoped"]>[0]) => wrap(store.scoped(scope)) }, setFull };
}

const message = (id: string, content: string) => ({ id, role: "user", parts: [{ type: "text", text: content }] });

test("a submit of which the store keeps nothing is 503 by every door, with a word and no place, on a new thread, an old one and one that waits; afterwards all goes on", async () => {
  await using kept = memoryStore();
  const { store, setFull } = filling(kept);
  await using runtime = openNode(store);
  const server = openServer({ runtime });
  const waiting = await stream(server, hello("approve say", { threadId: "waits" }));
  const end = endOf(await readFrames(waiting));
  const ticket = end?.type === "run-end" ? end.tickets[0]?.id : expect.fail();
  await readFrames(await stream(server, hello("say", { threadId: "old" })));
  setFull(true);
  const said = { agentId: "assistant", messages: [message("u", "say")], trigger: "submit-message" };
  const input = (threadId: string) => ({ threadId, runId: `ag-${threadId}`, messages: [{ id: "u", role: "user", content: "say" }] });
  const doors = (threadId: string): readonly (readonly [string, object, Readonly<Record<string, string>>?])[] => [
    ["/v1/runs", hello("say", { threadId })],
    ["/v1/runs", hello("say", { threadId }), { "idempotency-key": "k" }],
    ["/v1/runs", hello("say", { threadId, onBusy: "interrupt" })],
    ["/v1/runs", hello("say", { threadId, onBusy: "queue" })],
    ["/v1/runs/start", hello("say", { threadId })],
    ["/v1/ai-sdk/chat", { id: threadId, ...said }],
    ...(threadId === "waits" ? [] : [["/v1/ag-ui/agents/assistant/runs", input(threadId)] as const]),
  ];
  for (const threadId of ["new", "old", "waits"]) {
    for (const [path, body, headers = {}] of doors(threadId)) {
      const response = await server.fetch(request("POST", path, { body, headers }));
      expect([response.status, await response.text()], `${path} on ${threadId}`).toEqual([
        503,
        JSON.stringify({ error: "the store does not answer", code: "storage_io" }),
      ]);
      expect(response.headers.get("retry-after")).toBe("1");
    }
  }
  expect(await ask(server, "POST", `/v1/tickets/${ticket}/decision`, { body: { action: "approve" } })).toMatchObject({ status: 503 });
  setFull(false);
  expect((await ask(server, "GET", "/v1/runs")).body).toMatchObject({ total: 2 });
  expect(await ask(server, "POST", `/v1/tickets/${ticket}/decision`, { body: { action: "approve" } })).toMatchObject({ status: 202 });
  for (const threadId of ["new", "old"]) {
    expect(endOf(await readFrames(await stream(server, hello("say", { threadId }))))).toMatchObject({ result: { status: "done" } });
  }
});

test("a submit whose events cannot be read is told so while its run goes on, and is the same run when it comes again", async () => {
  await using kept = memoryStore();
  let isBroken = true;
  const unread = <Records extends Pick<QueueStore, "events">>(records: Records): Records => ({
    ...records,
    events: {
      ...records.events,
      list: async (...given: Parameters<QueueStore["events"]["list"]>) => {
        if (isBroken) throw new AwakenError("storage_io", "the disk of /srv/a.db cannot be read");
        return records.events.list(...given);
      },
    },
  });
  const store: QueueStore = { ...unread(kept), scoped: (scope) => unread(kept.scoped(scope)) };
  const [began, end] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
  const execute = () => {
    began.resolve();
    return end.promise;
  };
  const effect = defineTool({ id: "effect", description: "Lasts", input: z.object({ n: z.number() }), execute });
  await using runtime = openNode(store, { tools: [effect] });
  const server = openServer({ runtime });
  const submit = () => server.fetch(request("POST", "/v1/runs", { body: hello("effect say"), headers: { "idempotency-key": "k" } }));
  const refused = await submit();
  expect([refused.status, await refused.text()]).toEqual([503, JSON.stringify({ error: "the store does not answer", code: "storage_io" })]);
  await began.promise;
  expect((await ask(server, "GET", "/v1/runs")).body).toMatchObject({ items: [{ status: "running" }] });
  isBroken = false;
  end.resolve("done");
  expect(endOf(await readFrames(await submit()))).toMatchObject({ type: "run-end", result: { status: "done" } });
  expect((await ask(server, "GET", "/v1/runs")).body).toMatchObject({ total: 1 });
});
