import type { JsonValue, MessageId, RunId, ScopeId, ToolCall, ToolResult } from "@awaken/contract";
import { effectKey, type LedgerClaim, type LedgerEntry, type LedgerOutcome } from "@awaken/contract/store";

/** What the ledger says about a run that goes on: calls that were claimed by a process that is gone, and calls that wait. */
export type OpenEntry = Exclude<LedgerEntry, { status: "finished" }>;

/** A call, as far as its row in the ledger is concerned: vendors repeat ids of calls, so its message belongs to it. */
interface CallKey {
  readonly messageId: MessageId;
  readonly call: Pick<ToolCall, "id">;
  /** As `keyOf` gave it. Made once for a call: a text that is put together again is hashed and compared again wherever it is looked up. */
  readonly idempotencyKey?: string;
}

/** A call that is about to run. */
interface ClaimedCall extends CallKey {
  readonly call: ToolCall;
}

/** Where a call stands whose row in the ledger is open. */
interface Tries {
  /** The number of the last one. */
  readonly attempt: number;
  /** It runs, or did when its process died. Otherwise it waits. */
  readonly isClaimed: boolean;
  /** The claim of a process that is gone: nobody knows whether the effect happened. */
  readonly unknown: OpenEntry | undefined;
}

const NO_OUTCOMES: readonly LedgerOutcome[] = Object.freeze([]);

/** The run's side of the effect ledger: what it has claimed, and the outcomes that wait for the next commit. */
export class RunLedger {
  readonly #runId: RunId;
  readonly #scopeId: ScopeId;
  /** By key; made with the first entry. */
  #tries: Map<string, Tries> | undefined;
  #outcomes: LedgerOutcome[] | undefined;

  constructor({ runId, scopeId }: { readonly runId: RunId; readonly scopeId: ScopeId }, entries: readonly OpenEntry[]) {
    this.#runId = runId;
    this.#scopeId = scopeId;
    for (const entry of entries) {
      const isClaimed = entry.status === "claimed";
      this.#set(entry.idempotencyKey, { attempt: entry.attempt, isClaimed, unknown: isClaimed ? entry : undefined });
    }
  }

  /** What the effect of the call is known by, outside too: as it was claimed, also when that was before keys named the tenant. */
  keyOf({ messageId, call, idempotencyKey }: CallKey): string {
    if (idempotencyKey !== undefined) return idempotencyKey;
    const key = effectKey(this.#runId, messageId, call.id, this.#scopeId);
    if (!this.#tries?.size || this.#tries.has(key)) return key;
    const unscoped = effectKey(this.#runId, messageId, call.id);
    return this.#tries.has(unscoped) ? unscoped : key;
  }

  /** The claim of a process that is gone, until the call has its result. */
  unknownOf(call: CallKey): OpenEntry | undefined {
    return this.#tries?.size ? this.#tries.get(this.keyOf(call))?.unknown : undefined;
  }

  /** It runs for the first time, and is on record as claimed: what was never claimed may have run before, unknown to all. */
  isFirstTry(call: CallKey): boolean {
    const tries = this.#tries?.get(this.keyOf(call));
    return tries?.isClaimed === true && tries.attempt === 1 && tries.unknown === undefined;
  }

  /** What to put on record before the call runs, with the input that it runs with. It counts from `begin` on. */
  claim(claimed: ClaimedCall, input: JsonValue, step: number): LedgerClaim {
    const { messageId, call } = claimed;
    const idempotencyKey = this.keyOf(claimed);
    const attempt = (this.#tries?.get(idempotencyKey)?.attempt ?? 0) + 1;
    return { idempotencyKey, attempt, messageId, toolCallId: call.id, toolName: call.name, step, input };
  }

  /** The claims are on record. */
  begin(claims: readonly LedgerClaim[]): void {
    for (const { idempotencyKey, attempt } of claims) {
      const before = this.#tries?.get(idempotencyKey);
      this.#set(idempotencyKey, { attempt, isClaimed: true, unknown: before?.unknown });
    }
  }

  /** A call has its result. What was never claimed has no outcome, and what waits has one when it waits no more. */
  settle(call: CallKey, result: ToolResult): void {
    if (!this.#tries?.size) return;
    const idempotencyKey = this.keyOf(call);
    const tries = this.#tries.get(idempotencyKey);
    if (tries === undefined || (result.type === "pending" && !tries.isClaimed)) return;
    this.#outcomes ??= [];
    this.#outcomes.push({ idempotencyKey, attempt: tries.attempt, result });
    if (result.type === "pending") this.#tries.set(idempotencyKey, { attempt: tries.attempt, isClaimed: false, unknown: undefined });
    else this.#tries.delete(idempotencyKey);
  }

  /** Its row stays as it is: what becomes known of it later is put on record then. */
  leaveOpen(call: CallKey): void {
    this.#tries?.delete(this.keyOf(call));
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

  #set(key: string, tries: Tries): void {
    this.#tries ??= new Map();
    this.#tries.set(key, tries);
  }
}
