import {
  type AgentEvent,
  type ClosedTicket,
  type Message,
  type PersistedState,
  type RunRecord,
  STATE_SCHEMA_VERSION,
} from "@awaken/contract";
import type { LedgerOutcome, SequencedMessage } from "@awaken/contract/store";
import type { News } from "../commit/compose.ts";
import { countedBy } from "../commit/counted.ts";
import { endEvent, type SaidAll } from "../commit/ended-record.ts";
import { Tally } from "../commit/tally.ts";

/** A run that began and is not over. */
export type OpenRunRecord = Extract<RunRecord, { status: "running" | "waiting" }>;

const NO_STATE: PersistedState = { schemaVersion: STATE_SCHEMA_VERSION, revision: 0, extensions: {} };

/** What a run that nobody executes is ended with. */
export interface RunEnd {
  readonly run: OpenRunRecord;
  /** What a model may see of the thread. */
  readonly view: readonly SequencedMessage[];
  readonly messages: readonly Message[];
  readonly threadState: PersistedState | undefined;
  /** Tickets that nobody can decide any more. */
  readonly tickets: readonly ClosedTicket[];
  /** Before its end. */
  readonly events: readonly AgentEvent[];
  readonly outcomes: readonly LedgerOutcome[];
  /** Default: as cancelled. */
  readonly ending?: SaidAll | undefined;
}

export function endNews({ run, view, messages, threadState, tickets, events, outcomes, ending }: RunEnd, now: number): News {
  const { runId, steps } = run;
  const termination = { type: ending === undefined ? "cancelled" : "natural-end" } as const;
  const tally = new Tally(countedBy(run, view));
  tally.response = ending?.response ?? "";
  return {
    messages: () => messages,
    lifecycle: { runId, status: "done", termination, stepCount: steps, updatedAt: now },
    tally,
    runState: run.state ?? NO_STATE,
    threadState: threadState ?? NO_STATE,
    tickets: [],
    decided: { entries: run.decided, closed: [...(run.closed ?? []), ...tickets] },
    events: [...events, endEvent(run, ending ?? { type: "cancelled" })],
    claims: [],
    outcomes,
    ending: termination,
  };
}
