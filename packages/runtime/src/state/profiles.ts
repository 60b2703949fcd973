// What hooks and tools do with profiles, and where those are kept without a store: behind the door of `profiles-door.ts`.
import { AwakenError, errorMessage, type JsonValue, toJson, validate } from "@awaken/contract";
import { type ProfileStore, profileOwner } from "@awaken/contract/store";
import type { ProfileAccessInit, ProfileKey } from "./profile-key.ts";

export { MemoryProfiles } from "./memory-profiles.ts";

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

async function open({ store, keys }: ProfileAccessInit, name?: string): Promise<ProfileStore> {
  if (name !== undefined && !keys.has(name)) {
    throw new AwakenError("profile_key_not_registered", `profile key not registered: ${name}`, { details: { key: name } });
  }
  if (store !== undefined) return store();
  throw new AwakenError("storage_not_found", "no profile store is configured: give the runtime a store");
}

export async function read<T>(init: ProfileAccessInit, key: ProfileKey<T>, instance: string): Promise<T> {
  const entry = await (await open(init, key.name)).load(profileOwner(instance), key.name);
  if (entry === undefined) return key.initial();
  const result = await validate(key.schema, entry.value);
  if (result.type === "valid") return result.value;
  throw new AwakenError("key_decode", `profile key '${key.name}' of '${instance}': ${result.message}`, {
    details: { key: key.name, instance, message: result.message },
  });
}

export async function write<T>(init: ProfileAccessInit, key: ProfileKey<T>, instance: string, value: T): Promise<void> {
  const store = await open(init, key.name);
  await store.put(profileOwner(instance), key.name, await encoded(key, value));
}

export async function remove(init: ProfileAccessInit, name: string, instance: string): Promise<void> {
  await (await open(init, name)).delete(profileOwner(instance), name);
}

export async function list(init: ProfileAccessInit, instance: string): Promise<readonly string[]> {
  const entries = await (await open(init)).list(profileOwner(instance));
  return entries.map((entry) => entry.key).filter((name) => init.keys.has(name));
}

export async function clear(init: ProfileAccessInit, instance: string): Promise<void> {
  await (await open(init)).clear(profileOwner(instance));
}
