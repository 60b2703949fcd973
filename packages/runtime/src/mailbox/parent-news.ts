import { isJsonObject, type RunProjection } from "@awaken/contract";
import type { EventAppend, Outbound } from "@awaken/contract/store";

const SHOWN_ABOVE: ReadonlySet<string> = new Set(["ticket-open", "decision-taken"]);

const ticketIn = ({ draft: { payload } }: EventAppend): string =>
  String(isJsonObject(payload["ticket"]) ? payload["ticket"]["id"] : payload["ticketId"]);

/**
 * Tickets stay rows of the run that asks. That one is open, or was decided, is told in the logs of all runs above it, in the same commit:
 * whoever follows one of them hears of it, also while that run waits and nobody executes it.
 */
export function parentNews(run: RunProjection, events: readonly EventAppend[]): readonly Outbound[] {
  const { ancestors = [] } = run.activation.trace;
  return events
    .filter(({ draft }) => SHOWN_ABOVE.has(draft.kind))
    .flatMap((event) =>
      ancestors.map(({ runId, threadId }) => ({
        id: `${event.draft.kind}:${ticketIn(event)}:${runId}`,
        threadId,
        forRun: runId,
        events: [{ draft: { ...event.draft, threadId, runId } }],
      })),
    );
}
