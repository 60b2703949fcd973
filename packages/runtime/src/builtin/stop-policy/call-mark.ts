import { isJsonObject, type JsonValue, type Turn } from "@awaken/contract";

/** The same text for the same input, whatever the order of its keys. */
function canonical(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key] ?? null)}`).join(",")}}`;
}

/** 64 bits in two halves: marks travel with every commit, inputs may be long. */
function hash(text: string): string {
  let [a, b] = [0xdeadbeef, 0x41c6ce57];
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    a = Math.imul(a ^ unit, 2654435761);
    b = Math.imul(b ^ unit, 1597334677);
  }
  return `${(a >>> 0).toString(36)}-${(b >>> 0).toString(36)}-${text.length}`;
}

/** A short mark of what a turn asks for: equal for the same calls with the same input, empty without any. */
export function callMark({ toolCalls }: Turn): string {
  return toolCalls.length === 0 ? "" : hash(toolCalls.map(({ name, input }) => `${name} ${canonical(input)}`).join("\n"));
}
