import { AwakenError } from "../error.ts";
import { isJsonObject, type JsonObject } from "../json.ts";
import * as s from "../schema/all.ts";
import { count, jsonMap, nonBlank } from "./fields.ts";
import type { Immutable } from "./immutable.ts";
import { checkSchema, readObject } from "./parse.ts";

export const CONFIG_NAMESPACES = ["agents", "providers", "models", "model-pools", "a2a-servers", "mcp-servers", "tools", "skills"] as const;

export const CONFIG_SCHEMA_VERSION = 1;

export const configMetaSchema = s.strictObject({
  /** Who wrote the spec: the program that we ship, or a user. */
  source: s.withDefault(
    s.taggedUnion("type", [
      s.strictObject({ type: s.literal("builtin"), binaryVersion: nonBlank }),
      s.strictObject({ type: s.literal("user") }),
    ]),
    { type: "user" },
  ),
  hidden: s.withDefault(s.boolean(), false),
  /** A patch over the spec, still to be parsed by the patch of its kind. */
  userOverrides: s.exactOptional(jsonMap),
  createdAt: s.withDefault(count, 0),
  updatedAt: s.withDefault(count, 0),
  revision: s.withDefault(count, 0),
});

export const configRecordSchema = s.strictObject({
  schemaVersion: s.withDefault(s.int().check(s.positive()), CONFIG_SCHEMA_VERSION),
  spec: jsonMap,
  meta: configMetaSchema,
});

export interface ConfigMeta extends Immutable<s.output<typeof configMetaSchema>> {}

/** A spec as it is stored, with what is known about it. */
export interface ConfigRecord<Spec> {
  readonly schemaVersion: typeof CONFIG_SCHEMA_VERSION;
  readonly spec: Spec;
  readonly meta: ConfigMeta;
}

/** A new record of a user, not stored yet. */
export function userRecord<Spec>(spec: Spec): ConfigRecord<Spec> {
  const meta: ConfigMeta = { source: { type: "user" }, hidden: false, createdAt: 0, updatedAt: 0, revision: 0 };
  return { schemaVersion: CONFIG_SCHEMA_VERSION, spec, meta };
}

const isEnvelope = (value: unknown): boolean => isJsonObject(value) && Object.hasOwn(value, "spec") && Object.hasOwn(value, "meta");

/** Reads a stored value. A bare spec, which is anything without both `spec` and `meta`, is a record of a user. */
export function decodeConfigRecord<Spec>(value: unknown, decodeSpec: (spec: unknown) => Spec): ConfigRecord<Spec> {
  if (!isEnvelope(value)) return userRecord(decodeSpec(value));
  const place = { kind: "config", part: "record" } as const;
  const { schemaVersion, spec, meta } = checkSchema(place, configRecordSchema, readObject(place, value));
  if (schemaVersion > CONFIG_SCHEMA_VERSION) {
    const message = `config record has schema version ${schemaVersion}; this program reads up to ${CONFIG_SCHEMA_VERSION}`;
    throw new AwakenError("storage_too_new", message, { details: { schemaVersion } });
  }
  return { schemaVersion: CONFIG_SCHEMA_VERSION, spec: decodeSpec(spec), meta };
}

/** The value to store: always the envelope. */
export function encodeConfigRecord<Spec>(record: ConfigRecord<Spec>, encodeSpec: (spec: Spec) => JsonObject): JsonObject {
  const { userOverrides, ...meta } = record.meta;
  return {
    schemaVersion: record.schemaVersion,
    spec: encodeSpec(record.spec),
    meta: { ...meta, ...(userOverrides === undefined ? {} : { userOverrides }) },
  };
}
