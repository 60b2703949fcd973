import { runId, type ScopeId, type ThreadId, threadId } from "@awaken/contract";
import type { ScopedQueueStore } from "@awaken/contract/store";
import { afterAll, expect, test } from "vitest";
import { dispatch, runs, user } from "../conformance/records.ts";
import { postgresStore } from "./store.ts";
import { codeOf } from "./test-pair.ts";
import { startProxy } from "./test-proxy.ts";
import { freshTenant, openTestPeer, openTestStore, runSql, schemaOf, threadIds } from "./test-store.ts";

const store = await openTestStore();
const peer = await openTestPeer(store);
afterAll(async () => {
  await peer.close();
  await store.close();
});

const ONE = { consumer: "node-1", leaseMs: 60_000 } as const;
const TWO = { consumer: "node-2", leaseMs: 60_000 } as const;

/** A run on each thread, with a message, in the queue. */
const enqueue = (own: ScopedQueueStore, threads: readonly ThreadId[]) =>
  Promise.all(
    threads.map((id) => {
      const run = runId(`run-${id}`);
      return own.commit({
        ...{ threadId: id, runId: run, isNewThread: true, isNewRun: true, run: runs.created({ threadId: id, runId: run }) },
        messageDelta: { messages: [user(`m-${id}`)], expectedMessageCount: 0 },
        dispatch: { type: "enqueue", dispatch: dispatch(`d-${id}`, { threadId: id, runId: run }) },
      });
    }),
  );

const claimedBy = async (own: ScopedQueueStore, id: ThreadId) =>
  (await own.dispatches.list(id, {})).map((row) => (row.status === "claimed" ? row.claimedBy : row.status));

/** Claims all at once; who got what, or the code of what was thrown. */
const claimAll = (own: ScopedQueueStore, threads: readonly ThreadId[], request: typeof ONE | typeof TWO) =>
  Promise.all(
    threads.map((id) =>
      codeOf(
        own.dispatches.claim(id, request).then((claim) => {
          if (claim === undefined) return undefined;
          const { dispatch: row, records } = claim;
          return [
            row.dispatchId,
            row.claimedBy,
            "head" in records ? records.head?.messages.map(({ message }) => message.id) : records.code,
          ];
        }),
      ),
    ),
  );
const expected = (id: ThreadId, consumer: string) => [`d-${id}`, consumer, [`m-${id}`]];

async function transactions(...scopes: readonly ScopeId[]): Promise<number> {
  const text = `SELECT count(DISTINCT xmin::text)::int AS n FROM ${schemaOf(store)}.dispatch WHERE scope_id = ANY ($1::text[])`;
  return Number((await runSql(text, [scopes]))[0]?.["n"]);
}

test("claims that are asked for together are one transaction, also of two tenants, and each has what its run begins with", async () => {
  const scopes = [freshTenant(), freshTenant()];
  const threads = threadIds(4);
  for (const scope of scopes) await enqueue(store.scoped(scope), threads);
  const claims = await Promise.all(scopes.map((scope) => claimAll(store.scoped(scope), threads, ONE)));
  expect(claims).toEqual(scopes.map(() => threads.map((id) => expected(id, "node-1"))));
  expect(await transactions(...scopes)).toBe(1);
});

test("of many claimers each thread is one's, whoever else asks for it at the same time, here or elsewhere", async () => {
  const scope = freshTenant();
  const threads = threadIds(16);
  await enqueue(store.scoped(scope), threads);
  const claims = await Promise.all([
    claimAll(store.scoped(scope), threads, ONE),
    claimAll(peer.scoped(scope), threads.toReversed(), TWO),
    claimAll(store.scoped(scope), threads, ONE),
  ]);
  const got = claims.flat().filter((claim) => claim !== undefined);
  expect(got).toHaveLength(16);
  for (const id of threads) {
    const [holder] = await claimedBy(store.scoped(scope), id);
    expect(got).toContainEqual(expected(id, holder ?? "nobody"));
  }
});

test("one whose thread is busy waits by itself, and one that somebody else has or whose row is damaged is nobody else's affair", async () => {
  const scope = freshTenant();
  const [own, other] = [store.scoped(scope), peer.scoped(scope)];
  const threads = threadIds(6);
  const [busy = threadId("none"), taken = threadId("none"), damaged = threadId("none"), ...free] = threads;
  await enqueue(own, threads);
  await other.dispatches.claim(taken, TWO);
  await runSql(`UPDATE ${schemaOf(store)}.dispatch SET record = '{"schemaVersion":1}' WHERE scope_id = $1 AND thread_id = $2`, [
    scope,
    damaged,
  ]);
  const isHeld = Promise.withResolvers<void>();
  const isOver = Promise.withResolvers<void>();
  const holding = other.transaction(async (ports) => {
    await ports.pending.append(busy, [{ message: user("p1"), deliveryMode: { boundary: "new-run" } }]);
    isHeld.resolve();
    await isOver.promise;
  });
  await isHeld.promise;
  let isClaimed = false;
  const waiting = claimAll(own, [busy], ONE).then((claims) => {
    isClaimed = true;
    return claims;
  });
  const claims = await claimAll(own, [taken, damaged, ...free], ONE);
  expect(claims).toEqual([undefined, "storage_corrupt", ...free.map((id) => expected(id, "node-1"))]);
  expect(isClaimed).toBe(false);
  isOver.resolve();
  await holding;
  expect(await waiting).toEqual([expected(busy, "node-1")]);
});

test.each([
  { lost: "the answer", isThere: true },
  { lost: "the commit", isThere: false },
])("a connection that is lost with $lost leaves each claim unknown", async ({ isThere }) => {
  const proxy = await startProxy();
  const behind = postgresStore(proxy.url, { schema: schemaOf(store), connections: 3 });
  const own = behind.scoped(freshTenant());
  const threads = threadIds(6);
  await enqueue(own, threads);
  if (isThere) proxy.loseAnswerToCommit();
  else proxy.loseCommit();
  expect(await claimAll(own, threads, ONE)).toEqual(threads.map(() => "commit_unknown"));
  const seen = () => Promise.all(threads.map((id) => claimedBy(store.scoped(own.scopeId), id)));
  await expect.poll(seen).toEqual(threads.map(() => [isThere ? "node-1" : "queued"]));
  expect(await claimAll(own, threads, TWO)).toEqual(threads.map((id) => (isThere ? undefined : expected(id, "node-2"))));
  await behind.close();
  await proxy.close();
});
