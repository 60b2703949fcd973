import type { Message, ThreadId } from "@awaken/contract";
import { clampLimit, MESSAGE_SCHEMA_VERSION, type MessageFilter, type MessageRecord, type MessageStore } from "@awaken/contract/store";
import { madeAt, seqOf } from "./messages.ts";
import { share } from "./share.ts";
import type { Access, ThreadRow } from "./tables.ts";

export function messagePort({ read }: Access): MessageStore {
  return {
    list: (threadId, { order = "ascending", limit, ...filter }) =>
      read((tables) => {
        const size = clampLimit(limit);
        const row = tables.threads.get(threadId);
        const found: number[] = [];
        for (const seq of walk(row, filter, order === "descending")) if (found.push(seq) > size) break;
        const items = found.slice(0, size).flatMap((seq) => recordAt(threadId, row, seq) ?? []);
        const last = found.length > size ? items.at(-1) : undefined;
        return { items, ...(last === undefined ? undefined : { next: last.seq }) };
      }),

    count: (threadId, filter = {}) =>
      read((tables) => {
        let count = 0;
        for (const _ of walk(tables.threads.get(threadId), filter, false)) count++;
        return count;
      }),

    load: (threadId, ids) =>
      read((tables) => {
        const row = tables.threads.get(threadId);
        const seqs = new Set(ids.map((id) => seqOf(row, id) ?? 0));
        return [...seqs].sort((a, b) => a - b).flatMap((seq) => recordAt(threadId, row, seq) ?? []);
      }),
  };
}

/** A row of the log, made for a reader. */
function recordAt(threadId: ThreadId, row: ThreadRow | undefined, seq: number): MessageRecord | undefined {
  const message = row?.messages[seq - 1];
  if (row === undefined || message === undefined) return undefined;
  return share({ schemaVersion: MESSAGE_SCHEMA_VERSION, threadId, seq, createdAt: madeAt(row, 0) + ageOf(row, seq), message });
}

function ageOf({ ages }: ThreadRow, seq: number): number {
  let low = 0;
  let high = ages.length / 2;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ages[2 * middle] ?? 0) <= seq) low = middle + 1;
    else high = middle;
  }
  return ages[2 * low - 1] ?? 0;
}

function* walk(row: ThreadRow | undefined, filter: MessageFilter, isBackwards: boolean): Iterable<number> {
  if (row === undefined) return;
  const first = Math.max(filter.afterSeq ?? 0, 0) + 1;
  const last = Math.min(filter.beforeSeq ?? Number.POSITIVE_INFINITY, row.messages.length + 1) - 1;
  for (let step = 0; step <= last - first; step++) {
    const seq = isBackwards ? last - step : first + step;
    const message = row.messages[seq - 1];
    if (message !== undefined && matches(message, filter)) yield seq;
  }
}

function matches(message: Message, { visibility = "all", runId }: MessageFilter): boolean {
  if (runId !== undefined && message.metadata?.runId !== runId) return false;
  return visibility === "all" || (visibility === "internal") === (message.visibility === "internal");
}
