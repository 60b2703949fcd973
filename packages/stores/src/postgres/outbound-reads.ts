import type { ScopeId, ThreadId } from "@awaken/contract";
import { type ThreadCommit, touchedThreads } from "@awaken/contract/store";
import type { OutboundReads } from "../plan/outbound-plan.ts";
import { type Log, logKey, touchedLogs } from "../sql/event-log.ts";
import { readHead } from "../sql/event-rows.ts";
import { textOf } from "../sql/rows.ts";
import { readQueueState, selectQueueState } from "./dispatch-rows.ts";
import { selectHead } from "./events.ts";
import { readCommitted, selectCommitted } from "./messages.ts";
import { readQueue, selectPending } from "./pending.ts";
import type { Questions } from "./questions.ts";
import { sql } from "./statement.ts";

/** What the commit has to know of the threads that it puts something on. */
export function askOutbound(questions: Questions, scopeId: ScopeId, { threadId: own, outbound = [], events = [], runId }: ThreadCommit) {
  const ids = outbound.map(({ id }) => id);
  const known = `SELECT outbound_id FROM ~outbound WHERE scope_id = $1 AND outbound_id = ANY ($2::text[])`;
  const delivered = questions.ask(ids.length === 0 ? undefined : sql(known, scopeId, ids), (rows) =>
    rows.map((row) => textOf(row, "outbound_id")),
  );
  const readers = outbound.flatMap(({ forRun }) => forRun ?? []);
  const there = questions.ask(readers.length === 0 ? undefined : sql(KNOWN_RUNS, scopeId, readers), (rows) =>
    rows.map((row) => textOf(row, "run_id")),
  );
  const threads = new Map(
    touchedThreads(own, outbound)
      .filter((id) => id !== own)
      .map((id) => {
        const items = outbound.filter((item) => item.threadId === id);
        const messages = items.flatMap(({ pending = [] }) => pending.map(({ message }) => message.id));
        const keys = items.flatMap(({ dispatch }) => dispatch?.dedupeKey ?? []);
        const dispatches = items.flatMap(({ dispatch }) => dispatch?.dispatchId ?? []);
        return [
          id,
          {
            queue: questions.ask(selectQueueState(scopeId, id, { keys }), readQueueState),
            dispatches: questions.ask(sql(KNOWN_DISPATCHES, scopeId, dispatches), (rows) => rows.map((row) => textOf(row, "dispatch_id"))),
            pending: questions.ask(selectPending(scopeId, id), readQueue),
            committed: questions.ask(selectCommitted(scopeId, id, messages), readCommitted),
          },
        ] as const;
      }),
  );
  const isOwn = (log: Log) => events.length > 0 && log.id === (log.type === "thread" ? own : runId);
  const logs = touchedLogs(outbound.flatMap((item) => item.events ?? [])).filter((log) => !isOwn(log));
  const heads = new Map(logs.map((log) => [logKey(log), questions.ask(selectHead(scopeId, log), ([row]) => readHead(log.type, row))]));
  const reads: OutboundReads = {
    delivered: { has: (id) => delivered().includes(id) },
    runs: { has: (id) => there().includes(id) },
    thread: (id) => {
      const post = threads.get(id);
      return {
        ...(post?.queue() ?? readQueueState([])),
        isKnown: (dispatchId) => post?.dispatches().includes(dispatchId) ?? false,
        pending: () => post?.pending().entries ?? [],
        committed: () => post?.committed() ?? new Set(),
      };
    },
  };
  return { reads, head: (log: Log) => heads.get(logKey(log))?.(), lastPlace: (id: ThreadId) => threads.get(id)?.pending().lastPlace ?? 0 };
}

const KNOWN_RUNS = "SELECT run_id FROM ~run WHERE scope_id = $1 AND run_id = ANY ($2::text[])";
const KNOWN_DISPATCHES = "SELECT dispatch_id FROM ~dispatch WHERE scope_id = $1 AND dispatch_id = ANY ($2::text[])";
