import type { JsonValue, PersistedState, Schema } from "@awaken/contract";
import type { AnyStateKey } from "./key.ts";

/** Schemas of ours say quickly whether a value is as they would give it. */
export const isFit = (schema: Schema, value: unknown): boolean =>
  "fits" in schema && typeof schema.fits === "function" && Reflect.apply(schema.fits, schema, [value, 0]) === true;

export const versionOf = ({ versions }: PersistedState, name: string): number =>
  versions !== undefined && Object.hasOwn(versions, name) ? (versions[name] ?? 1) : 1;

/** Whether a stored value is what its key has today: then it is taken itself. Nothing else is read before what reads it is loaded. */
export const isOfToday = (key: AnyStateKey, stored: JsonValue, version: number): boolean =>
  version === key.version && isFit(key.schema, stored);
