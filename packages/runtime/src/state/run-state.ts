import { AwakenError, freezeMade, type Log, type MergeRule, type PersistedState, type StateScope } from "@awaken/contract";
import type { Batch } from "./batch.ts";
import type { Reading } from "./decode-value.ts";
import type { KeptKeys } from "./kept.ts";
import type { AnyStateKey, StateKey } from "./key.ts";
import { type LateState, schemas } from "./late-schema.ts";
import { decoded, decodeState, encodeState, type UnknownKeys } from "./persist.ts";
import { applied, initialValue, refusal } from "./reduce.ts";
import { type ExportScope, type SlotTable, Snapshot, type StateReader, slotTable } from "./snapshot.ts";

const EMPTY: SlotTable = /* @__PURE__ */ slotTable([]);

/** Whoever changes a key that is not trusted, or restores one that nobody has registered, has opened it. */
const lateState = (): LateState => schemas.here;

/**
 * All state of one run: synchronous, changed only by `commit`, read only through snapshots. Values live in numbered slots,
 * so a commit copies one array of references, whatever the values weigh.
 */
export class RunState implements StateReader {
  #table: SlotTable = EMPTY;
  #revision = 0;
  /** Made for whoever looks at this revision: few are looked at. */
  #snapshot: Snapshot | undefined;
  #values: readonly unknown[] = [];
  #changedAt: number[] = [];
  /** Few runs have any. */
  #kept: KeptKeys | undefined;
  readonly #log: Log;
  readonly #late: () => LateState;

  /** `table` may be shared by many stores: it is replaced, never changed. */
  constructor(log: Log, table: SlotTable = EMPTY, late: () => LateState = lateState) {
    this.#log = log;
    this.#late = late;
    if (table === EMPTY) return;
    this.#table = table;
    this.#values = table.keys.map(() => undefined);
    this.#changedAt = table.keys.map(() => 0);
  }

  get revision(): number {
    return this.#revision;
  }

  snapshot(): Snapshot {
    this.#snapshot ??= new Snapshot(this.#revision, this.#table, this.#values);
    return this.#snapshot;
  }

  /** As it is now. Undefined when the key was never updated. */
  get<V, U>(key: StateKey<V, U>): V | undefined {
    const slot = this.#table.slots.get(key.name);
    // As in a snapshot, which is not asked: a run of one step looks some fifty times.
    return slot === undefined ? undefined : (this.#values[slot] as V | undefined);
  }

  mergeRule(key: string): MergeRule {
    const slot = this.#table.slots.get(key);
    return slot === undefined ? "exclusive" : (this.#table.keys[slot]?.merge ?? "exclusive");
  }

  /** True if the key was changed after that revision. */
  isChangedSince(key: string, revision: number): boolean {
    const slot = this.#table.slots.get(key);
    return slot !== undefined && (this.#changedAt[slot] ?? 0) > revision;
  }

  /** Adds the keys that are not there yet. */
  register(keys: readonly AnyStateKey[]): void {
    if (keys.every((key) => this.#table.slots.has(key.name))) return;
    // Those that are there keep their slots.
    const known = this.#table.keys.length;
    this.#table = slotTable([...this.#table.keys, ...keys]);
    const missing = this.#table.keys.slice(known);
    this.#changedAt = [...this.#changedAt, ...missing.map(() => 0)];
    this.#show(this.#revision, [...this.#values, ...missing.map(() => undefined)]);
    for (const key of missing) this.#adoptKept(key);
  }

  /** Applies all updates or none, and returns the revision. Nothing to do: nothing happens. */
  commit(batch: Batch): number {
    const before = this.#revision;
    if (batch.updates.length === 0) return before;
    const values = this.#applied(batch);
    const revision = before + 1;
    for (const { key } of batch.updates) this.#changedAt[this.#slot(key)] = revision;
    this.#show(revision, values);
    return revision;
  }

  /** Throws what `commit` would throw, and changes nothing. */
  check(batch: Batch): void {
    if (batch.updates.length > 0) this.#applied(batch);
  }

  /** A store as this one would be after the batch; this one stays as it is. */
  with(batch: Batch): RunState {
    const changed = new RunState(this.#log, this.#table, this.#late);
    changed.#kept = this.#kept;
    changed.#reset(this.revision, this.#values);
    changed.commit(batch);
    return changed;
  }

  /** The persistent keys that are present and asked for. */
  export(scope: ExportScope): PersistedState {
    const state = encodeState(this.revision, this.#table, this.#values, scope);
    return this.#kept === undefined || scope === "shared" ? state : this.#kept.into(state, scope === "over" ? "run" : scope);
  }

  /** Replaces everything, revision too. All or nothing. */
  restore(state: PersistedState, unknown: UnknownKeys, reading?: Reading): void {
    const values = this.#decoded(
      state,
      unknown,
      "full",
      this.#table.keys.map(() => undefined),
      reading,
    );
    this.#reset(state.revision, values);
    this.#keep("run", state);
  }

  /** Takes the thread's keys from a stored state and ignores the rest of it. */
  restoreThread(state: PersistedState, unknown: UnknownKeys = "skip", reading?: Reading): void {
    this.#reset(this.revision, this.#decoded(state, unknown, "thread", this.#values.slice(), reading));
    this.#keep("thread", state);
  }

  /** Puts the given keys over what is there; no revision. */
  seed(state: PersistedState, unknown: UnknownKeys = "error"): void {
    this.#reset(this.revision, this.#decoded(state, unknown, "full", this.#values.slice(), "strict"));
  }

  #decoded(state: PersistedState, unknown: UnknownKeys, scope: "thread" | "full", values: unknown[], reading: Reading = "as-key-says") {
    return decodeState(state, { table: this.#table, unknown, scope, late: this.#late, log: this.#log, reading }, values);
  }

  #slot(key: AnyStateKey): number {
    const slot = this.#table.slots.get(key.name);
    if (slot === undefined) {
      throw new AwakenError("unknown_key", `state key '${key.name}' is not registered`, { details: { key: key.name } });
    }
    return slot;
  }

  /** All values as they would be. */
  #applied({ updates, baseRevision }: Batch): readonly unknown[] {
    if (baseRevision !== undefined && baseRevision !== this.#revision) {
      throw new AwakenError("revision_conflict", `computed from revision ${baseRevision}, but the state is at ${this.revision}`, {
        details: { expected: baseRevision, actual: this.revision },
      });
    }
    if (updates.length > 1) for (const { key } of updates) this.#slot(key);
    const values = this.#values.slice();
    let untrusted: Set<AnyStateKey> | undefined;
    for (const { key, update } of updates) {
      const slot = this.#slot(key);
      const own = this.#table.keys[slot] ?? key;
      values[slot] = this.#reduce(own, values[slot], update);
      if (!own.trusted) untrusted = (untrusted ?? new Set()).add(own);
    }
    // Each value once: what came of its last update is what is going to be stored.
    for (const key of untrusted ?? []) {
      const slot = this.#slot(key);
      if (values[slot] !== this.#values[slot]) this.#late().checkValue(key, values[slot]);
    }
    return values;
  }

  #reduce(key: AnyStateKey, current: unknown, update: unknown): unknown {
    const value = current === undefined ? this.#sealed(key, "initial", initialValue(key), undefined) : current;
    const refused = refusal(key, value, update);
    if (refused !== undefined) {
      this.#log.error(`state key '${key.name}' ignored an update: ${refused}`);
      return current;
    }
    return this.#sealed(key, "apply", applied(key, value, update), value);
  }

  #sealed(key: AnyStateKey, what: string, value: unknown, before: unknown): unknown {
    if (key.trusted) {
      if (typeof value === "object" && value !== null && value !== before) freezeMade(value);
    } else this.#late().sealMade(key, what, value, before);
    return value;
  }

  #keep(scope: StateScope, state: PersistedState): void {
    if (this.#kept === undefined && Object.keys(state.extensions).every((name) => this.#table.slots.has(name))) return;
    this.#kept ??= new (this.#late().KeptKeys)();
    this.#kept.keep(scope, state, this.#table);
  }

  /** A key that came back with the stored state before anybody registered it. */
  #adoptKept(key: AnyStateKey): void {
    const kept = this.#kept?.take(key.name);
    if (kept === undefined || kept.scope !== key.scope) return;
    const values = this.#values.slice();
    values[this.#slot(key)] = decoded(key, kept.value, kept.version, { late: this.#late, log: this.#log });
    this.#show(this.#revision, values);
  }

  #reset(revision: number, values: readonly unknown[]): void {
    this.#changedAt = values.map(() => revision);
    this.#show(revision, values);
  }

  #show(revision: number, values: readonly unknown[]): void {
    this.#revision = revision;
    this.#values = values;
    this.#snapshot = undefined;
  }
}
