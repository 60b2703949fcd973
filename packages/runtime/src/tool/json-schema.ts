import type { JsonObject, JsonValue, Validated } from "@awaken/contract";
import { Door } from "../stream/door.ts";

/** Most runs never need it. */
export const jsonSchema = new Door(() => import("@awaken/contract/json-schema"));

/** Checks what has a JSON Schema alone. */
export async function checkJsonSchema(schema: JsonObject, value: unknown): Promise<Validated<JsonValue>> {
  const { checkJson } = await jsonSchema.open();
  return checkJson(schema, value);
}
