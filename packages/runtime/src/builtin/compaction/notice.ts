import { type CompactionOrder, type CompactionState, messageId, type SystemMessage } from "@awaken/contract";
import { command } from "../../phase/command.ts";
import type { CompactionNotice } from "../../plugin/inbox.ts";
import { estimateMessage } from "../../prompt/estimate.ts";
import { summaryMessage } from "../../prompt/summary-message.ts";
import type { StateReader } from "../../state/snapshot.ts";
import type { Ids } from "../../stream/ids.ts";
import { type CompactionUpdate, compactionChange } from "./compaction-changes.ts";
import { compactionState } from "./compaction-state.ts";

/** How a compaction went. */
export type CompactionOutcome =
  | { readonly type: "summary"; readonly summary: SystemMessage; readonly tokens: number }
  | { readonly type: "skipped" }
  | { readonly type: "failed"; readonly error: string };

/** What to make of the summariser's text: a summary has to save enough of what it replaces. */
export function judgeSummary(text: string, order: CompactionOrder, minSavingsRatio: number, ids: Ids): CompactionOutcome {
  if (text === "") return { type: "failed", error: "the summary is empty" };
  const summary = summaryMessage(messageId(ids()), text);
  const tokens = estimateMessage(summary);
  return 1 - tokens / order.tokens < minSavingsRatio ? { type: "skipped" } : { type: "summary", summary, tokens };
}

function toUpdate(outcome: CompactionOutcome, { upTo, tokens: tokensBefore }: CompactionOrder, at: number): CompactionUpdate {
  switch (outcome.type) {
    case "summary":
      return {
        type: "compacted",
        boundary: { upTo, at, summaryId: outcome.summary.id, tokensBefore, tokensAfter: outcome.tokens },
      };
    case "skipped":
      return { type: "skipped", skip: { upTo, at, reason: "min-savings-ratio" } };
    case "failed":
      return { type: "failed", failure: { upTo, at, error: outcome.error } };
  }
}

const isCurrent = (inFlight: CompactionState["inFlight"], { taskId, upTo }: CompactionOrder): boolean =>
  inFlight?.taskId === taskId && inFlight.upTo === upTo;

/** Tells the loop. A notice that the in-flight marker does not name changes nothing. */
export function compactionNotice(outcome: CompactionOutcome, order: CompactionOrder, now: () => number): CompactionNotice {
  const isStale = (state: StateReader) => !isCurrent(state.get(compactionState)?.inFlight, order);
  return {
    swap(state) {
      if (outcome.type !== "summary" || isStale(state)) return undefined;
      return { upTo: messageId(order.upTo), summary: outcome.summary };
    },
    bookkeep(state, isSwapped) {
      if (isStale(state)) return undefined;
      const isDropped = outcome.type === "summary" && !isSwapped;
      return command().update(compactionState, compactionChange(isDropped ? { type: "dropped" } : toUpdate(outcome, order, now())));
    },
  };
}
