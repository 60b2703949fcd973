import { AwakenError, isJson } from "@awaken/contract";
import { PROFILE_SCHEMA_VERSION, type ProfileOwner, type ProfileRecord, type ProfileStore } from "@awaken/contract/store";

/** The profiles of a runtime that was given no store. They live as long as it does. */
export class MemoryProfiles implements ProfileStore {
  readonly #now: () => number;
  readonly #owners = new Map<ProfileOwner, Map<string, ProfileRecord>>();

  constructor(now: () => number) {
    this.#now = now;
  }

  async load(owner: ProfileOwner, key: string): Promise<ProfileRecord | undefined> {
    return this.#owners.get(owner)?.get(key);
  }

  /** A copy: whoever wrote the value may go on changing it. */
  async put(owner: ProfileOwner, key: string, value: ProfileRecord["value"]): Promise<ProfileRecord> {
    if (!isJson(value)) throw new AwakenError("storage_validation", `the profile '${key}' must be JSON`, { details: { key } });
    const record = { schemaVersion: PROFILE_SCHEMA_VERSION, owner, key, value: structuredClone(value), updatedAt: this.#now() } as const;
    const entries = this.#owners.get(owner) ?? new Map<string, ProfileRecord>();
    this.#owners.set(owner, entries.set(key, record));
    return record;
  }

  async delete(owner: ProfileOwner, key: string): Promise<void> {
    this.#owners.get(owner)?.delete(key);
  }

  async list(owner: ProfileOwner): Promise<readonly ProfileRecord[]> {
    const entries = [...(this.#owners.get(owner)?.values() ?? [])];
    return entries.sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  async clear(owner: ProfileOwner): Promise<void> {
    this.#owners.delete(owner);
  }
}
