import { AwakenError, DEFAULT_SCOPE, freezeJson, isJson, type ScopeId } from "@awaken/contract";
import { PROFILE_SCHEMA_VERSION, type ProfileOwner, type ProfileRecord, type ProfileStore } from "@awaken/contract/store";

type Owners = Map<ProfileOwner, Map<string, ProfileRecord>>;

/** The profiles of a runtime that was given no store. They live as long as it does. */
export class MemoryProfiles implements ProfileStore {
  readonly #now: () => number;
  readonly #scopeId: ScopeId;
  /** There is nothing in it for a tenant that wrote nothing. */
  readonly #tenants: Map<ScopeId, Owners>;

  constructor(now: () => number, scopeId: ScopeId = DEFAULT_SCOPE, tenants: Map<ScopeId, Owners> = new Map()) {
    this.#now = now;
    this.#scopeId = scopeId;
    this.#tenants = tenants;
  }

  /** Those of another tenant. */
  scoped(scopeId: ScopeId): MemoryProfiles {
    return new MemoryProfiles(this.#now, scopeId, this.#tenants);
  }

  async load(owner: ProfileOwner, key: string): Promise<ProfileRecord | undefined> {
    return this.#of(owner)?.get(key);
  }

  /** A copy: whoever wrote the value may go on changing it. */
  async put(owner: ProfileOwner, key: string, value: ProfileRecord["value"]): Promise<ProfileRecord> {
    if (!isJson(value)) throw new AwakenError("storage_validation", `the profile '${key}' must be JSON`, { details: { key } });
    const record = { schemaVersion: PROFILE_SCHEMA_VERSION, owner, key, value: structuredClone(value), updatedAt: this.#now() } as const;
    freezeJson(record);
    const owners = this.#tenants.get(this.#scopeId) ?? new Map();
    this.#tenants.set(this.#scopeId, owners);
    owners.set(owner, (owners.get(owner) ?? new Map<string, ProfileRecord>()).set(key, record));
    return record;
  }

  async delete(owner: ProfileOwner, key: string): Promise<void> {
    const entries = this.#of(owner);
    entries?.delete(key);
    if (entries?.size === 0) await this.clear(owner);
  }

  async list(owner: ProfileOwner): Promise<readonly ProfileRecord[]> {
    const entries = [...(this.#of(owner)?.values() ?? [])];
    return entries.sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  async clear(owner: ProfileOwner): Promise<void> {
    const owners = this.#tenants.get(this.#scopeId);
    owners?.delete(owner);
    if (owners?.size === 0) this.#tenants.delete(this.#scopeId);
  }

  #of(owner: ProfileOwner): Map<string, ProfileRecord> | undefined {
    return this.#tenants.get(this.#scopeId)?.get(owner);
  }
}
