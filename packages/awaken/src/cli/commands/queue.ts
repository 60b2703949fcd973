import type { ThreadId } from "@awaken/contract";
import type { DispatchPosition, DispatchRecord, PendingRecord, QueuePorts } from "@awaken/contract/store";
import { EXIT } from "../exit-codes.ts";
import { openRecords } from "../load-project.ts";
import { counted, Output, timeText } from "../output.ts";
import { withQueue } from "../queue-store.ts";
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

const seconds = (ms: number): string => `${Math.ceil(ms / 1000)} s`;

/** When it is due, or whose it is. */
function standing(dispatch: DispatchRecord, now: number): readonly [when: string, by: string] {
  if (dispatch.status === "claimed") {
    const left = dispatch.leaseUntil - now;
    return [left < 0 ? "lease is over" : `lease ${seconds(left)}`, dispatch.claimedBy];
  }
  return [dispatch.availableAt <= now ? "due" : `due in ${seconds(dispatch.availableAt - now)}`, "-"];
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
  if (found.length + left.length === 0) {
    out.note(`nothing is queued in ${records.label}`);
    return EXIT.ok;
  }
  const now = Date.now();
  out.table(
    ["RUN", "THREAD", "STATUS", "WHEN", "BY", "FAILED", "PENDING", "QUEUED (UTC)"],
    [
      ...found.map((dispatch) => {
        const waiting = pending.get(dispatch.threadId)?.length ?? 0;
        const tries = `${dispatch.attemptCount} of ${dispatch.maxAttempts}`;
        const { runId, threadId, status, createdAt } = dispatch;
        return [runId, threadId, status, ...standing(dispatch, now), tries, String(waiting), timeText(createdAt)];
      }),
      // They wait for a decision, or for a worker to find them.
      ...left.map(([threadId, entries]) => [
        "-",
        threadId,
        "pending",
        "-",
        "-",
        "-",
        String(entries.length),
        timeText(entries[0]?.createdAt ?? 0),
      ]),
    ],
  );
  if (hasMore) out.note(`the first ${found.length}: --limit shows more`);
  const { "dead-letter": dead } = await store.dispatches.countByStatus();
  if (dead > 0) out.note(`${counted(dead, "dead letter")}: \`awaken dead-letters\` lists them`);
  return EXIT.ok;
}
