import type { Id } from "./ids.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";
import * as s from "./schema/all.ts";
import { RESUME_MODES } from "./suspension.ts";

// The pieces of stored records that every run has, see `stored.ts` for the others. They read what a store gives back, so they trust that it is JSON.

/* @__NO_SIDE_EFFECTS__ */
export const idOf = <Kind extends string>(kind: Kind): s.Type<Id<Kind>, string> => s.text(`expected the id of a ${kind}, not blank`);

export const runIdSchema = idOf("run");
export const toolCallIdSchema = idOf("tool call");

export const jsonValueSchema = s.custom<JsonValue>((value) => value !== undefined, "expected a JSON value");
export const jsonObjectSchema = s.custom<JsonObject>(isJsonObject, "expected a JSON object");

export const resumeModeSchema = s.enum(RESUME_MODES);
