import { isJsonObject, type JsonObject, type JsonValue } from "@awaken/contract";
import { type PathSegment, printPath, type ToolCallPattern } from "./tool-call-pattern.ts";

/** What a schema says about one step. Undefined: it leaves open what is there. */
type Below = readonly JsonObject[] | undefined;

const isSchema = (value: JsonValue | undefined): value is JsonObject => value !== undefined && isJsonObject(value);

function items(schema: JsonObject): Below {
  const found = schema["items"];
  if (isSchema(found)) return [found];
  return schema["type"] === "object" ? [] : undefined;
}

function fields(schema: JsonObject, segment: PathSegment): Below {
  const properties = schema["properties"];
  if (!isSchema(properties)) return schema["type"] === "array" ? [] : undefined;
  const others = schema["additionalProperties"];
  const named =
    segment.type === "key" ? [Object.hasOwn(properties, segment.key) ? properties[segment.key] : undefined] : Object.values(properties);
  const found = [...named, segment.type === "key" && named[0] !== undefined ? undefined : others].filter(isSchema);
  // A member that is allowed without a schema of its own may be anything.
  return found.length === 0 && (named.some((one) => one === true) || others === true) ? undefined : found;
}

const below = (schema: JsonObject, segment: PathSegment): Below =>
  segment.type === "index" || segment.type === "any-index" ? items(schema) : fields(schema, segment);

function canExist(schema: JsonObject, path: readonly PathSegment[]): boolean {
  const [segment, ...rest] = path;
  if (segment === undefined) return true;
  const found = below(schema, segment);
  return found === undefined || found.some((one) => canExist(one, rest));
}

/** The paths of a pattern's conditions that no input of this JSON Schema has. A hint for whoever wrote the rule, no more. */
export function impossiblePaths({ args }: ToolCallPattern, schema: JsonObject): readonly string[] {
  if (args.type !== "fields") return [];
  return args.conditions.filter(({ path }) => !canExist(schema, path)).map(({ path }) => printPath(path));
}
