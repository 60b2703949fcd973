import type { JsonObject, JsonValue, Validated } from "@awaken/contract";

/** Checks what has a JSON Schema alone. The checker is loaded when it is first needed: most runs never do. */
export async function checkJsonSchema(schema: JsonObject, value: unknown): Promise<Validated<JsonValue>> {
  const { checkJson } = await import("@awaken/contract/json-schema");
  return checkJson(schema, value);
}
