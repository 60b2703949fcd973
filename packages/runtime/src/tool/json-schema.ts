import type { JsonObject, JsonValue, Validated } from "@awaken/contract";
import { seldom } from "./seldom-door.ts";

/** Checks what has a JSON Schema alone. */
export async function checkJsonSchema(schema: JsonObject, value: unknown): Promise<Validated<JsonValue>> {
  const { checkJson } = await seldom.open();
  return checkJson(schema, value);
}
