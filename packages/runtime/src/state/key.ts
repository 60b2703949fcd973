import {
  AwakenError,
  checkOptions,
  describeType,
  type JsonValue,
  MERGE_RULES,
  type MergeRule,
  needed,
  type PartRules,
  partRule,
  RULES,
  type Schema,
  STATE_SCOPES,
  type StateScope,
  shorten,
} from "@awaken/contract";

/** Turns the stored value of one version of a key into that of the next. */
export type Migration = (value: JsonValue) => JsonValue;

/**
 * What becomes of a stored value that today's schema refuses: it fails whoever opens the thread, it is dropped with a warning, or a
 * function makes a value of it. The function gets what was stored and what is wrong with it; undefined drops it.
 */
export type OnInvalid<V> = "fail" | "drop" | ((stored: JsonValue, problem: string) => V | undefined);

export interface StateInit<V, U> {
  /** Default `run`: the value starts absent in each run. `thread`: it is restored and stored with the thread. */
  readonly scope?: StateScope;
  /** Checks a value when it is committed and when it comes back. Must be synchronous, and take a value of its own output as it is. */
  readonly schema: Schema<V>;
  /** What the first update starts from. A key that was never updated reads as absent. */
  initial(): NoInfer<V>;
  /** Pure: returns the next value and leaves the given one alone (it is frozen). */
  apply(value: NoInfer<V>, update: U): NoInfer<V>;
  /** Default `exclusive`: two parallel updates are a conflict. `commutative`: their order does not matter. */
  readonly merge?: MergeRule;
  /** Default true. A persistent value is plain JSON. */
  readonly persistent?: boolean;
  /** Default false. True lets the value leave the process: whoever follows a run sees it in the snapshots of its state. */
  readonly shared?: boolean;
  /** One per past version, oldest first; the key's version is their number plus one. */
  readonly migrations?: readonly Migration[];
  /** Default `fail`, with an error that names the key. For what a migration did not foresee: the schema changed, the version did not. */
  readonly onInvalid?: OnInvalid<NoInfer<V>>;
  /** For state machines: why this update is not legal now. A refused update is logged and changes nothing. */
  refuse?(value: NoInfer<V>, update: U): string | undefined;
}

/** A typed slot of state. Methods, not function properties, so that keys of all types fit in one list. */
export interface StateKey<V, U> {
  /** Unique among the keys of an agent; the value is stored under it. */
  readonly name: string;
  /** Whether the value ends with the run or stays with the thread. */
  readonly scope: StateScope;
  /** What every committed value fits. */
  readonly schema: Schema<V>;
  /** What two parallel updates are: a conflict, or the same in any order. */
  readonly merge: MergeRule;
  /** Whether the value is stored. */
  readonly persistent: boolean;
  /** Whether the value may leave the process. */
  readonly shared: boolean;
  /** Whether the value stays when the plugin that owns the key goes. */
  /** The number of its migrations plus one; stored with the value. */
  readonly version: number;
  /** One per past version, oldest first. */
  readonly migrations: readonly Migration[];
  /** A method, so that keys of all types fit in one list. */
  onInvalid(stored: JsonValue, problem: string): Rescued<V>;
  /** Its reducer is known to give new plain JSON: it is not looked through at every commit. */
  readonly trusted: boolean;
  /** What the first update starts from. */
  initial(): V;
  /** The next value. Pure. */
  apply(value: V, update: U): V;
  /** Why this update is not legal now; undefined when it is. */
  refuse?(value: V, update: U): string | undefined;
}

/** What a key's choice makes of a stored value that its schema refuses. */
export type Rescued<V> =
  | { readonly type: "fail" }
  | { readonly type: "drop" }
  | {
      readonly type: "value";
      /** What takes the place of what was stored. */
      readonly value: V;
    };

const FAIL: Rescued<never> = Object.freeze({ type: "fail" });
const DROP: Rescued<never> = Object.freeze({ type: "drop" });

function rescue<V>(choice: OnInvalid<V>, stored: JsonValue, problem: string): Rescued<V> {
  if (choice === "fail") return FAIL;
  const value = choice === "drop" ? undefined : choice(stored, problem);
  return value === undefined ? DROP : { type: "value", value };
}

export type AnyStateKey = StateKey<unknown, unknown>;

const RESERVED = "__runtime.";

const INIT: PartRules<StateInit<unknown, unknown>> = {
  scope: RULES.oneOf(...STATE_SCOPES),
  schema: needed(RULES.schema),
  initial: needed(RULES.code),
  apply: needed(RULES.code),
  merge: RULES.oneOf(...MERGE_RULES),
  persistent: RULES.flag,
  shared: RULES.flag,
  migrations: partRule("a list of functions", (list) => Array.isArray(list) && list.every(RULES.code.is)),
  onInvalid: partRule('"fail", "drop" or a function', (value) => value === "fail" || value === "drop" || typeof value === "function"),
  refuse: RULES.code,
};

/** Throws unless it can be the name of a key, profile, action or effect. */
export function checkName(what: string, name: unknown): void {
  if (typeof name !== "string")
    throw new AwakenError("invalid_definition", `the name of ${what} must be a string, got ${describeType(name)}`);
}

const KEY = RULES.withMethods("a key", "apply", "initial");

/** Keys that were made here, as far as can be seen. */
export const isKeyList = (list: unknown): boolean =>
  Array.isArray(list) && list.every((key) => KEY.is(key) && RULES.name.is(Reflect.get(Object(key), "name")));

function buildKey<V, U>(name: string, init: StateInit<V, U>, trusted: boolean): StateKey<V, U> {
  checkOptions("invalid_definition", `state key '${shorten(name)}'`, init, INIT);
  // The one name that an object cannot have as a key.
  if (name.trim() === "" || name === "__proto__") throw new AwakenError("unknown_key", `'${name}' cannot be the name of a state key`);
  const { migrations = [], onInvalid = "fail" } = init;
  return Object.freeze({
    name,
    scope: init.scope ?? "run",
    schema: init.schema,
    merge: init.merge ?? "exclusive",
    persistent: init.persistent ?? true,
    shared: init.shared ?? false,
    migrations,
    onInvalid: (stored: JsonValue, problem: string) => rescue(onInvalid, stored, problem),
    trusted,
    version: migrations.length + 1,
    initial: init.initial,
    apply: init.apply,
    ...(init.refuse === undefined ? {} : { refuse: init.refuse }),
  });
}

/** Makes the compiler keep the literals and tuples that `initial` returns: `() => ({ mode: "plan" })` needs no annotation. */
type Literals = "" | 0 | [] | { readonly [key: string]: Literals };

/** Any value but undefined. */
export type Value = string | number | bigint | boolean | symbol | object | null | Literals;

/** Declares a state key. Names are global; `__runtime.` is ours. */
/* @__NO_SIDE_EFFECTS__ */
export function defineState<V extends Value, U>(name: string, init: StateInit<V, U>): StateKey<V, U> {
  checkName("a state key", name);
  if (name.startsWith(RESERVED)) {
    throw new AwakenError("key_already_registered", `state key '${name}': names that start with '${RESERVED}' are reserved`, {
      details: { key: name },
    });
  }
  return buildKey(name, init, false);
}

const runtimeName = (name: string): string => (name.startsWith("_") ? name : `${RESERVED}${name}`);

/** The same for the runtime's own keys. */
/* @__NO_SIDE_EFFECTS__ */
export function defineRuntimeState<V, U>(name: string, init: StateInit<V, U>): StateKey<V, U> {
  return buildKey(runtimeName(name), init, false);
}

/** For keys of ours that change at every step and hold nothing that a user handed in. */
/* @__NO_SIDE_EFFECTS__ */
export function defineTrustedState<V, U>(name: string, init: StateInit<V, U>): StateKey<V, U> {
  return buildKey(runtimeName(name), init, true);
}
