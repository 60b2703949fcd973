import type { Schema } from "@awaken/contract";
import type { ProfileStore } from "@awaken/contract/store";
import type { Late } from "../stream/door.ts";

/** A typed namespace of data that outlives threads: one value per instance string. */
export interface ProfileKey<T> {
  /** Unique among profiles; values are stored under it. */
  readonly name: string;
  /** What every value fits, when it is written and when it is read. */
  readonly schema: Schema<T>;
  /** What a missing entry reads as. */
  initial(): T;
}

export type AnyProfileKey = ProfileKey<unknown>;

/** Where profiles are kept: most runs have none, so it is opened by the first who asks. */
export type LateProfiles = () => Late<ProfileStore>;

export interface ProfileAccessInit {
  readonly store: LateProfiles | undefined;
  readonly keys: ReadonlyMap<string, AnyProfileKey>;
}
