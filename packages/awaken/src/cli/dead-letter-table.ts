import type { DeadLetter } from "@awaken/runtime";
import { type Output, timeText } from "./output.ts";

export interface DeadLetterList {
  readonly found: readonly (Omit<DeadLetter, "id"> & { readonly id: string })[];
  readonly hasMore: boolean;
  /** Where they were read. */
  readonly label: string;
  readonly isJson: boolean;
}

export function printDeadLetters(out: Output, { found, hasMore, label, isJson }: DeadLetterList): void {
  if (isJson) {
    for (const letter of found) out.json(letter);
    return;
  }
  if (found.length === 0) {
    out.note(`there are no dead letters in ${label}`);
    return;
  }
  out.table(
    ["DEAD LETTER", "RUN", "THREAD", "FAILED", "DIED (UTC)", "WHY"],
    found.map(({ id, runId, threadId, attempts, diedAt, error }) => [id, runId, threadId, String(attempts), timeText(diedAt), error]),
  );
  if (hasMore) out.note(`the first ${found.length}: --limit shows more`);
}

export const replayedLine = (runId: string, threadId: string): string =>
  `run ${runId} is queued on thread ${threadId}: a process that serves the queue takes it up`;
