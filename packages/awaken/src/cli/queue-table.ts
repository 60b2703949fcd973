import type { AnswerOf, Routes } from "@awaken/contract/http";
import { counted, type Output, timeText } from "./output.ts";

/** What is queued, as a server tells it. */
export type QueueEntry = AnswerOf<Routes["listQueue"]>["items"][number];

const HEAD = ["RUN", "THREAD", "STATUS", "WHEN", "BY", "FAILED", "PENDING", "QUEUED (UTC)"];

const seconds = (ms: number): string => `${Math.ceil(ms / 1000)} s`;

/** When it is due, or whose it is. */
function standing(entry: Exclude<QueueEntry, { readonly status: "pending" }>, now: number): readonly [when: string, by: string] {
  if (entry.status === "claimed") {
    const left = entry.leaseUntil - now;
    return [left < 0 ? "lease is over" : `lease ${seconds(left)}`, entry.claimedBy];
  }
  return [entry.availableAt <= now ? "due" : `due in ${seconds(entry.availableAt - now)}`, "-"];
}

/** Messages without a run wait for a decision, or for a worker to find them. */
function row(entry: QueueEntry, now: number): readonly string[] {
  const { threadId, status, pending, createdAt } = entry;
  const last = [String(pending), timeText(createdAt)];
  if (entry.status === "pending") return ["-", threadId, status, "-", "-", "-", ...last];
  return [entry.runId, threadId, status, ...standing(entry, now), `${entry.attempts} of ${entry.maxAttempts}`, ...last];
}

export interface QueueList {
  readonly entries: readonly QueueEntry[];
  readonly hasMore: boolean;
  readonly deadLetters: number;
  /** Where it was read. */
  readonly label: string;
}

export function printQueue(out: Output, { entries, hasMore, deadLetters, label }: QueueList): void {
  if (entries.length === 0) {
    out.note(`nothing is queued in ${label}`);
    return;
  }
  const now = Date.now();
  out.table(
    HEAD,
    entries.map((entry) => row(entry, now)),
  );
  if (hasMore) out.note(`the first ${entries.filter(({ status }) => status !== "pending").length}: --limit shows more`);
  if (deadLetters > 0) out.note(`${counted(deadLetters, "dead letter")}: \`awaken dead-letters\` lists them`);
}
