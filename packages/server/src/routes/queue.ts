import { dispatchId, type JsonValue, type ThreadId } from "@awaken/contract";
import type { AnswerOf, Routes } from "@awaken/contract/http";
import { clampLimit, type DispatchRecord } from "@awaken/contract/store";
import { pairOf, readCursor, writeCursor } from "../http/cursors.ts";
import type { Handlers, Tenant } from "./served.ts";

type Entry = AnswerOf<Routes["listQueue"]>["items"][number];

/** The token of a claim is the right to write the run: it stays with its owner. */
function viewDispatch(dispatch: DispatchRecord, pending: number): readonly Entry[] {
  const { runId, threadId, priority, attemptCount: attempts, maxAttempts, createdAt } = dispatch;
  const work = { runId, threadId, priority, attempts, maxAttempts, createdAt, pending };
  if (dispatch.status === "queued") return [{ ...work, status: "queued", availableAt: dispatch.availableAt }];
  if (dispatch.status !== "claimed") return [];
  return [{ ...work, status: "claimed", leaseUntil: dispatch.leaseUntil, claimedBy: dispatch.claimedBy }];
}

/** Threads where messages wait, and nothing is queued that would read them. */
async function viewUnattended({ records }: Tenant, threads: readonly ThreadId[]): Promise<readonly Entry[]> {
  const queues = await Promise.all(
    threads.map(async (threadId) => ({ threadId, entries: (await records.pending.load(threadId)).entries })),
  );
  return queues.flatMap(({ threadId, entries }) => {
    const [first] = entries;
    return first === undefined ? [] : [{ status: "pending", threadId, pending: entries.length, createdAt: first.createdAt } as const];
  });
}

interface Page {
  readonly items: readonly Entry[];
  /** Where the next page begins: behind a dispatch, or behind a thread that has none. */
  readonly next: JsonValue | undefined;
}

async function listDispatches({ records }: Tenant, place: JsonValue | undefined, limit: number): Promise<Page> {
  const pair = pairOf(place);
  const after = pair === undefined ? undefined : { createdAt: pair[0], dispatchId: dispatchId(pair[1]) };
  const { items, next } = await records.dispatches.listAll({
    statuses: ["queued", "claimed"],
    limit,
    ...(after === undefined ? undefined : { after }),
  });
  const threads = [...new Set(items.map(({ threadId }) => threadId))];
  const waiting = new Map(await Promise.all(threads.map(async (id) => [id, (await records.pending.load(id)).entries.length] as const)));
  return {
    items: items.flatMap((dispatch) => viewDispatch(dispatch, waiting.get(dispatch.threadId) ?? 0)),
    next: next === undefined ? undefined : [next.createdAt, next.dispatchId],
  };
}

async function listUnattended(tenant: Tenant, after: string, limit: number): Promise<Page> {
  const { pending } = tenant.records;
  const threads = limit === 0 ? [] : await pending.listUnattended(limit, after);
  const last = threads.at(-1) ?? after;
  const hasMore = threads.length === limit && (await pending.listUnattended(1, last)).length > 0;
  return { items: await viewUnattended(tenant, threads), next: hasMore ? last : undefined };
}

/** Dispatches first, then the threads that have none. */
async function listAll(tenant: Tenant, place: JsonValue | undefined, limit: number): Promise<Page> {
  if (typeof place === "string") return listUnattended(tenant, place, limit);
  const page = await listDispatches(tenant, place, limit);
  if (page.next !== undefined) return page;
  const { items, next } = await listUnattended(tenant, "", limit - page.items.length);
  return { items: [...page.items, ...items], next };
}

/** Of the tenant of whoever runs the server. */
export const queueHandlers: Handlers<"listQueue"> = {
  async listQueue({ tenant, query }) {
    const { items, next } = await listAll(tenant, readCursor("queue", query.cursor, {}), clampLimit(query.limit));
    const { "dead-letter": deadLetters } = await tenant.records.dispatches.countByStatus();
    return {
      items: [...items],
      hasMore: next !== undefined,
      deadLetters,
      ...(next === undefined ? undefined : { nextCursor: writeCursor("queue", next, {}) }),
    };
  },
};
