import type { ThreadId } from "@awaken/contract";
import type { DispatchPosition, DispatchRecord, PendingRecord, QueuePorts } from "@awaken/contract/store";
import { EXIT } from "../exit-codes.ts";
import { openRecords } from "../load-project.ts";
import { Output } from "../output.ts";
import { withQueue } from "../queue-store.ts";
import { printQueue, type QueueEntry } from "../queue-table.ts";
import { readLimit } from "../read-option.ts";
import type { Shell } from "../shell.ts";
import type { ListOptions } from "./threads.ts";

const PAGE = 200;

/** What is not over, the oldest first, and whether there is more. */
async function listOpen({ dispatches }: QueuePorts, limit: number) {
  const found: DispatchRecord[] = [];
  let after: DispatchPosition | undefined;
  do {
    const size = Math.min(PAGE, limit - found.length);
    const page = await dispatches.listAll({ statuses: ["queued", "claimed"], limit: size, ...(after === undefined ? {} : { after }) });
    found.push(...page.items);
    after = page.next;
  } while (after !== undefined && found.length < limit);
  return { found, hasMore: after !== undefined };
}

/** Messages that wait, by thread: of those that have work in the queue, and of those that have none. */
async function listPending(
  { pending }: QueuePorts,
  open: readonly DispatchRecord[],
): Promise<ReadonlyMap<ThreadId, readonly PendingRecord[]>> {
  const threads = new Set([...open.map(({ threadId }) => threadId), ...(await pending.listUnattended(PAGE))]);
  const queues = await Promise.all([...threads].map(async (id) => [id, (await pending.load(id)).entries] as const));
  return new Map(queues.filter(([, entries]) => entries.length > 0));
}

function entryOf(dispatch: DispatchRecord, pending: number): readonly QueueEntry[] {
  const { runId, threadId, priority, attemptCount: attempts, maxAttempts, createdAt } = dispatch;
  const work = { runId, threadId, priority, attempts, maxAttempts, createdAt, pending };
  if (dispatch.status === "queued") return [{ ...work, status: "queued", availableAt: dispatch.availableAt }];
  if (dispatch.status !== "claimed") return [];
  return [{ ...work, status: "claimed", leaseUntil: dispatch.leaseUntil, claimedBy: dispatch.claimedBy }];
}

/** What waits for a worker or is with one, of the default tenant, and messages that no run has read. */
export async function queue(shell: Shell, options: ListOptions): Promise<number> {
  const limit = readLimit(options.limit, 50);
  await using records = await openRecords({ ...options, cwd: shell.cwd, env: shell.env });
  const store = withQueue(records.store, records.label);
  const { found, hasMore } = await listOpen(store, limit);
  const pending = await listPending(store, found);
  const out = new Output(shell);
  if (options.json === true) {
    // A token is the right to write the run: it stays with its owner.
    for (const dispatch of found) out.json({ type: "dispatch", ...dispatch, claimToken: undefined });
    for (const [threadId, entries] of pending) out.json({ type: "pending", threadId, entries });
    return EXIT.ok;
  }
  const busy = new Set(found.map(({ threadId }) => threadId));
  const left = [...pending].filter(([threadId]) => !busy.has(threadId));
  const { "dead-letter": deadLetters } = await store.dispatches.countByStatus();
  printQueue(out, {
    entries: [
      ...found.flatMap((dispatch) => entryOf(dispatch, pending.get(dispatch.threadId)?.length ?? 0)),
      ...left.map(([threadId, { length, 0: first }]) => {
        return { status: "pending", threadId, pending: length, createdAt: first?.createdAt ?? 0 } as const;
      }),
    ],
    hasMore,
    deadLetters,
    label: records.label,
  });
  return EXIT.ok;
}
