import { effectKey, type LedgerClaim, type LedgerEntry, type LedgerOutcome, type RunId, type ToolResult } from "@awaken/contract";
import { inputOf, type LiveCall } from "./live-call.ts";

/** What the ledger says about a run that goes on: calls that were claimed by a process that is gone, and calls that wait. */
export type OpenEntry = Exclude<LedgerEntry, { status: "finished" }>;

type CallKey = Pick<LiveCall, "messageId"> & { readonly call: { readonly id: LiveCall["call"]["id"] } };

/** The run's side of the effect ledger: what it has claimed, and the outcomes that wait for the next commit. */
export class RunLedger {
  readonly #runId: RunId;
  /** The last try of each call that may be tried again. */
  readonly #attempts = new Map<string, number>();
  /** Claimed by a process that is gone: nobody knows whether the effect happened. */
  readonly #unknown = new Map<string, OpenEntry>();
  /** The try that the call's next result is the outcome of. */
  readonly #claimed = new Map<string, number>();
  #outcomes: LedgerOutcome[] = [];

  constructor(runId: RunId, entries: readonly OpenEntry[]) {
    this.#runId = runId;
    for (const entry of entries) {
      this.#attempts.set(entry.idempotencyKey, entry.attempt);
      if (entry.status !== "claimed") continue;
      this.#unknown.set(entry.idempotencyKey, entry);
      this.#claimed.set(entry.idempotencyKey, entry.attempt);
    }
  }

  keyOf({ messageId, call }: CallKey): string {
    return effectKey(this.#runId, messageId, call.id);
  }

  /** The claim of a process that is gone, until the call has its result. */
  unknownOf(call: CallKey): OpenEntry | undefined {
    return this.#unknown.size === 0 ? undefined : this.#unknown.get(this.keyOf(call));
  }

  /** What to put on record before the call runs. It counts from `begin` on. */
  claim(live: LiveCall, step: number): LedgerClaim {
    const idempotencyKey = this.keyOf(live);
    return {
      idempotencyKey,
      attempt: (this.#attempts.get(idempotencyKey) ?? 0) + 1,
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
      this.#attempts.set(idempotencyKey, attempt);
      this.#claimed.set(idempotencyKey, attempt);
    }
  }

  /** A call has its result. What was never claimed has no outcome. */
  settle(call: CallKey, result: ToolResult): void {
    if (this.#claimed.size === 0) return;
    const idempotencyKey = this.keyOf(call);
    const attempt = this.#claimed.get(idempotencyKey);
    if (attempt === undefined) return;
    this.#claimed.delete(idempotencyKey);
    this.#unknown.delete(idempotencyKey);
    this.#outcomes.push({ idempotencyKey, attempt, result });
  }

  /** Nobody found out what became of the call: whatever it is given as a result now is not its outcome. */
  leaveUnknown(call: CallKey): void {
    if (this.unknownOf(call) !== undefined) this.#claimed.delete(this.keyOf(call));
  }

  /** Outcomes for the commit that is about to be written. */
  takeOutcomes(): readonly LedgerOutcome[] {
    const outcomes = this.#outcomes;
    if (outcomes.length > 0) this.#outcomes = [];
    return outcomes;
  }

  /** The commit failed. */
  putBack(outcomes: readonly LedgerOutcome[]): void {
    if (outcomes.length > 0) this.#outcomes = [...outcomes, ...this.#outcomes];
  }
}
