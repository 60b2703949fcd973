import { effectKey, type LedgerClaim, type LedgerEntry, type LedgerOutcome, type RunId, type ToolResult } from "@awaken/contract";
import { inputOf, type LiveCall } from "./live-call.ts";

/** What the ledger says about a run that goes on: calls that were claimed by a process that is gone, and calls that wait. */
export type OpenEntry = Exclude<LedgerEntry, { status: "finished" }>;

type CallKey = Pick<LiveCall, "messageId"> & { readonly call: { readonly id: LiveCall["call"]["id"] } };

/** Where a call stands that may be tried again. */
interface Tries {
  /** The number of the last one. */
  attempt: number;
  /** The call's next result is the outcome of the last try. */
  isClaimed: boolean;
  /** The claim of a process that is gone: nobody knows whether the effect happened. */
  unknown: OpenEntry | undefined;
}

const NO_OUTCOMES: readonly LedgerOutcome[] = [];

/** The run's side of the effect ledger: what it has claimed, and the outcomes that wait for the next commit. */
export class RunLedger {
  readonly #runId: RunId;
  /** By key; made with the first entry. */
  #tries: Map<string, Tries> | undefined;
  #outcomes: LedgerOutcome[] | undefined;

  constructor(runId: RunId, entries: readonly OpenEntry[]) {
    this.#runId = runId;
    for (const entry of entries) {
      const isClaimed = entry.status === "claimed";
      this.#set(entry.idempotencyKey, { attempt: entry.attempt, isClaimed, unknown: isClaimed ? entry : undefined });
    }
  }

  /** The claim of a process that is gone, until the call has its result. */
  unknownOf(call: CallKey): OpenEntry | undefined {
    return this.#triesOf(call)?.unknown;
  }

  /** What to put on record before the call runs. It counts from `begin` on. */
  claim(live: LiveCall, step: number): LedgerClaim {
    const idempotencyKey = this.#keyOf(live);
    return {
      idempotencyKey,
      attempt: (this.#tries?.get(idempotencyKey)?.attempt ?? 0) + 1,
      messageId: live.messageId,
      toolCallId: live.call.id,
      toolName: live.call.name,
      step,
      input: inputOf(live),
    };
  }

  /** The claims are on record. */
  begin(claims: readonly LedgerClaim[]): void {
    for (const { idempotencyKey, attempt } of claims) {
      const before = this.#tries?.get(idempotencyKey);
      this.#set(idempotencyKey, { attempt, isClaimed: true, unknown: before?.unknown });
    }
  }

  /** A call has its result. What was never claimed has no outcome. */
  settle(call: CallKey, result: ToolResult): void {
    const tries = this.#triesOf(call);
    if (tries?.isClaimed !== true) return;
    tries.isClaimed = false;
    tries.unknown = undefined;
    this.#outcomes ??= [];
    this.#outcomes.push({ idempotencyKey: this.#keyOf(call), attempt: tries.attempt, result });
  }

  /** Nobody found out what became of the call: whatever it is given as a result now is not its outcome. */
  leaveUnknown(call: CallKey): void {
    const tries = this.#triesOf(call);
    if (tries?.unknown !== undefined) tries.isClaimed = false;
  }

  /** Outcomes for the commit that is about to be written. */
  takeOutcomes(): readonly LedgerOutcome[] {
    const outcomes = this.#outcomes ?? NO_OUTCOMES;
    this.#outcomes = undefined;
    return outcomes;
  }

  /** The commit failed. */
  putBack(outcomes: readonly LedgerOutcome[]): void {
    if (outcomes.length > 0) this.#outcomes = [...outcomes, ...(this.#outcomes ?? [])];
  }

  #keyOf({ messageId, call }: CallKey): string {
    return effectKey(this.#runId, messageId, call.id);
  }

  #triesOf(call: CallKey): Tries | undefined {
    return this.#tries?.get(this.#keyOf(call));
  }

  #set(key: string, tries: Tries): void {
    this.#tries ??= new Map();
    this.#tries.set(key, tries);
  }
}
