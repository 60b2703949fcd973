import type { JsonValue } from "./json.ts";

/** Run state lives as long as one run, thread state as long as the thread. */
export const STATE_SCOPES = ["run", "thread"] as const;
export type StateScope = (typeof STATE_SCOPES)[number];

/** Whether parallel updates of one key may be put one after the other (`commutative`) or are a conflict (`exclusive`). */
export const MERGE_RULES = ["exclusive", "commutative"] as const;
export type MergeRule = (typeof MERGE_RULES)[number];

export const STATE_SCHEMA_VERSION = 1;

/** State as it is stored: the keys that are persistent and present. */
export interface PersistedState {
  readonly schemaVersion: typeof STATE_SCHEMA_VERSION;
  readonly revision: number;
  readonly extensions: { readonly [key: string]: JsonValue };
  /** The version of each key whose definition is past version 1. */
  readonly versions?: { readonly [key: string]: number };
}
