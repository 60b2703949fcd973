import type { JsonValue } from "../json.ts";
import * as s from "../schema/all.ts";
import { jsonValueSchema } from "../stored.ts";
import { defineRecord } from "./record.ts";
import { nonBlankSchema, timeSchema } from "./row-schemas.ts";

export const PROFILE_SCHEMA_VERSION = 1;

/** `agent:<name>` holds what belongs to one agent, or to any other instance that a plugin names; `system` what belongs to all. */
export type ProfileOwner = "system" | `agent:${string}`;

/** Shared state uses instances such as `global`, `parent_thread::<id>`, `agent_type::<name>` and `thread::<id>`. */
export const profileOwner = (instance: string): ProfileOwner => `agent:${instance}`;

export interface ProfileRecord {
  readonly schemaVersion: typeof PROFILE_SCHEMA_VERSION;
  readonly owner: ProfileOwner;
  readonly key: string;
  readonly value: JsonValue;
  readonly updatedAt: number;
}

const ownerSchema = s.custom<ProfileOwner>(
  (value) => value === "system" || (typeof value === "string" && value.startsWith("agent:") && value.trim() !== "agent:"),
  "expected 'system' or 'agent:<name>'",
);

export const profileRecord = defineRecord<ProfileRecord>({
  name: "profile",
  version: PROFILE_SCHEMA_VERSION,
  schema: s.strictObject({
    schemaVersion: s.literal(PROFILE_SCHEMA_VERSION),
    owner: ownerSchema,
    key: nonBlankSchema,
    value: jsonValueSchema,
    updatedAt: timeSchema,
  }),
});

/** JSON by owner and key. Owners do not see each other; the last writer of a key wins. */
export interface ProfileStore {
  load(owner: ProfileOwner, key: string): Promise<ProfileRecord | undefined>;

  /** Inserts or replaces and stamps the time; `storage_validation` for what is not JSON. */
  put(owner: ProfileOwner, key: string, value: JsonValue): Promise<ProfileRecord>;

  /** Nothing to delete is fine. */
  delete(owner: ProfileOwner, key: string): Promise<void>;

  /** All of the owner, by key in code unit order. */
  list(owner: ProfileOwner): Promise<readonly ProfileRecord[]>;

  /** Deletes all of the owner; nothing to delete is fine. */
  clear(owner: ProfileOwner): Promise<void>;
}
