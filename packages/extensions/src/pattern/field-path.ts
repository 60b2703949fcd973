import { isJsonObject, type JsonValue } from "@awaken/contract";
import type { PathSegment } from "./tool-call-pattern.ts";

function step(value: JsonValue, segment: PathSegment): readonly JsonValue[] {
  if (Array.isArray(value)) {
    if (segment.type === "any-index") return value;
    const found = segment.type === "index" ? value[segment.index] : undefined;
    return found === undefined ? [] : [found];
  }
  if (!isJsonObject(value)) return [];
  if (segment.type === "any-key") return Object.values(value);
  if (segment.type !== "key" || !Object.hasOwn(value, segment.key)) return [];
  return [value[segment.key] ?? null];
}

/** Every value that the path leads to; none when there is no such place. */
export function valuesAt(value: JsonValue, path: readonly PathSegment[]): readonly JsonValue[] {
  return path.reduce<readonly JsonValue[]>((values, segment) => values.flatMap((one) => step(one, segment)), [value]);
}
