import { asItIsNow } from "@awaken/contract";
import { withRoom } from "../stream/door.ts";
import type { ProfileAccessInit, ProfileKey } from "./profile-key.ts";
import { profiles } from "./profiles-door.ts";

export type { AnyProfileKey, LateProfiles, ProfileKey } from "./profile-key.ts";

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

export const createProfileAccess = (init: ProfileAccessInit): ProfileAccess => Object.freeze(new Profiles(init));

/** What it does is loaded with the first call. */
class Profiles implements ProfileAccess {
  readonly #store: ProfileAccessInit["store"];
  readonly #keys: ProfileAccessInit["keys"];

  constructor({ store, keys }: ProfileAccessInit) {
    this.#store = store;
    this.#keys = keys;
  }

  get #init(): ProfileAccessInit {
    return { store: this.#store, keys: this.#keys };
  }

  async read<T>(key: ProfileKey<T>, instance: string): Promise<T> {
    return (await profiles.open()).read(this.#init, key, instance);
  }

  async write<T>(key: ProfileKey<T>, instance: string, value: T): Promise<void> {
    return withRoom(profiles.open(), asItIsNow(value), (room, given) => room.write(this.#init, key, instance, given));
  }

  async delete<T>(key: ProfileKey<T>, instance: string): Promise<void> {
    return (await profiles.open()).remove(this.#init, key.name, instance);
  }

  async list(instance: string): Promise<readonly string[]> {
    return (await profiles.open()).list(this.#init, instance);
  }

  async clear(instance: string): Promise<void> {
    return (await profiles.open()).clear(this.#init, instance);
  }
}
