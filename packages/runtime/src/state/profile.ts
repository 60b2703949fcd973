import {
  AwakenError,
  checkOptions,
  errorMessage,
  type JsonValue,
  needed,
  type PartRules,
  RULES,
  type Schema,
  shorten,
  toJson,
  validate,
} from "@awaken/contract";
import { type ProfileStore, profileOwner } from "@awaken/contract/store";
import { checkName, type Value } from "./key.ts";

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

const PROFILE: PartRules<Omit<AnyProfileKey, "name">> = { schema: needed(RULES.schema), initial: needed(RULES.code) };

/** Declares a profile. A plugin registers it; without a store its values live as long as the runtime. */
export function defineProfile<T extends Value>(
  name: string,
  init: {
    /** What every value fits, when it is written and when it is read. */
    readonly schema: Schema<T>;
    /** What a missing entry reads as. */
    initial(): NoInfer<T>;
  },
): ProfileKey<T> {
  checkName("a profile", name);
  checkOptions("invalid_definition", `profile '${shorten(name)}'`, init, PROFILE);
  return Object.freeze({ name, schema: init.schema, initial: init.initial });
}

/** Instance strings for state that several agents share. Any other string is as good. */
export const sharedScope = {
  /** One value for everybody. */
  global: "global",
  /** One value for all runs that a thread started. */
  parentThread: (id: string) => `parent_thread::${id}`,
  /** One value for all runs of an agent. */
  agentType: (name: string) => `agent_type::${name}`,
  /** One value for a thread. */
  thread: (id: string) => `thread::${id}`,
} as const;

/** Profile and shared state, as hooks and tools see it. Not part of snapshots, merging or commits. */
export interface ProfileAccess {
  /** The value, or the key's `initial` when there is none. */
  read<T>(key: ProfileKey<T>, instance: string): Promise<T>;
  /** Stored at once, not with the commit of the step. */
  write<T>(key: ProfileKey<T>, instance: string, value: NoInfer<T>): Promise<void>;
  /** Deleting what is not there is fine. */
  delete<T>(key: ProfileKey<T>, instance: string): Promise<void>;
  /** The names of the registered keys that this instance has a value for, sorted. */
  list(instance: string): Promise<readonly string[]>;
  /** Deletes all that this instance has. */
  clear(instance: string): Promise<void>;
}

/** Refuses what JSON would change so that it could not be read back: a Map, a NaN. */
async function encoded<T>(key: ProfileKey<T>, value: T): Promise<JsonValue> {
  const refuse = (message: string, cause?: unknown): never => {
    throw new AwakenError("key_encode", `profile key '${key.name}': ${message}`, { cause, details: { key: key.name, message } });
  };
  let json: JsonValue;
  try {
    json = toJson(value);
  } catch (cause) {
    return refuse(errorMessage(cause), cause);
  }
  const result = await validate(key.schema, json);
  return result.type === "valid" ? json : refuse(`the value cannot be read back: ${result.message}`);
}

export interface ProfileAccessInit {
  readonly store: ProfileStore | undefined;
  readonly keys: ReadonlyMap<string, AnyProfileKey>;
}

export const createProfileAccess = (init: ProfileAccessInit): ProfileAccess => Object.freeze(new Profiles(init));

class Profiles implements ProfileAccess {
  readonly #init: ProfileAccessInit;

  constructor(init: ProfileAccessInit) {
    this.#init = init;
  }

  async read<T>(key: ProfileKey<T>, instance: string): Promise<T> {
    const entry = await this.#open(key.name).load(profileOwner(instance), key.name);
    if (entry === undefined) return key.initial();
    const result = await validate(key.schema, entry.value);
    if (result.type === "valid") return result.value;
    throw new AwakenError("key_decode", `profile key '${key.name}' of '${instance}': ${result.message}`, {
      details: { key: key.name, instance, message: result.message },
    });
  }

  async write<T>(key: ProfileKey<T>, instance: string, value: T): Promise<void> {
    const store = this.#open(key.name);
    await store.put(profileOwner(instance), key.name, await encoded(key, value));
  }

  async delete<T>(key: ProfileKey<T>, instance: string): Promise<void> {
    await this.#open(key.name).delete(profileOwner(instance), key.name);
  }

  async list(instance: string): Promise<readonly string[]> {
    const entries = await this.#open().list(profileOwner(instance));
    return entries.map((entry) => entry.key).filter((name) => this.#init.keys.has(name));
  }

  async clear(instance: string): Promise<void> {
    await this.#open().clear(profileOwner(instance));
  }

  #open(name?: string): ProfileStore {
    const { store, keys } = this.#init;
    if (name !== undefined && !keys.has(name)) {
      throw new AwakenError("profile_key_not_registered", `profile key not registered: ${name}`, { details: { key: name } });
    }
    if (store !== undefined) return store;
    throw new AwakenError("storage_not_found", "no profile store is configured: give the runtime a store");
  }
}
