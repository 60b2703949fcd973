import { dispatchId } from "@awaken/contract";
import type { AnswerOf, Routes } from "@awaken/contract/http";
import { clampLimit, type DispatchRecord } from "@awaken/contract/store";
import { pairOf, readCursor, writeCursor } from "../http/cursors.ts";
import type { Handlers, Tenant } from "./served.ts";

type Entry = AnswerOf<Routes["listQueue"]>["items"][number];

const MAX_UNATTENDED = 200;

/** The token of a claim is the right to write the run: it stays with its owner. */
function viewDispatch(dispatch: DispatchRecord, pending: number): readonly Entry[] {
  const { runId, threadId, priority, attemptCount: attempts, maxAttempts, createdAt } = dispatch;
  const work = { runId, threadId, priority, attempts, maxAttempts, createdAt, pending };
  if (dispatch.status === "queued") return [{ ...work, status: "queued", availableAt: dispatch.availableAt }];
  if (dispatch.status !== "claimed") return [];
  return [{ ...work, status: "claimed", leaseUntil: dispatch.leaseUntil, claimedBy: dispatch.claimedBy }];
}

/** Threads where messages wait, and nothing is queued that would read them. */
async function listUnattended({ records }: Tenant): Promise<readonly Entry[]> {
  const threads = await records.pending.listUnattended(MAX_UNATTENDED);
  const queues = await Promise.all(
    threads.map(async (threadId) => ({ threadId, entries: (await records.pending.load(threadId)).entries })),
  );
  return queues.flatMap(({ threadId, entries }) => {
    const [first] = entries;
    return first === undefined ? [] : [{ status: "pending", threadId, pending: entries.length, createdAt: first.createdAt } as const];
  });
}

/** Of the tenant of whoever runs the server. What has no dispatch comes with the last page. */
export const queueHandlers: Handlers<"listQueue"> = {
  async listQueue({ tenant, query }) {
    const { dispatches, pending } = tenant.records;
    const place = pairOf(readCursor("queue", query.cursor, {}));
    const after = place === undefined ? undefined : { createdAt: place[0], dispatchId: dispatchId(place[1]) };
    const { items, next } = await dispatches.listAll({
      statuses: ["queued", "claimed"],
      limit: clampLimit(query.limit),
      ...(after === undefined ? undefined : { after }),
    });
    const threads = [...new Set(items.map(({ threadId }) => threadId))];
    const waiting = new Map(await Promise.all(threads.map(async (id) => [id, (await pending.load(id)).entries.length] as const)));
    const { "dead-letter": deadLetters } = await dispatches.countByStatus();
    return {
      items: [
        ...items.flatMap((dispatch) => viewDispatch(dispatch, waiting.get(dispatch.threadId) ?? 0)),
        ...(next === undefined ? await listUnattended(tenant) : []),
      ],
      hasMore: next !== undefined,
      deadLetters,
      ...(next === undefined ? undefined : { nextCursor: writeCursor("queue", [next.createdAt, next.dispatchId], {}) }),
    };
  },
};
