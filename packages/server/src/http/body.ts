import { AwakenError, type JsonValue } from "@awaken/contract";
import type { Deadlines } from "./deadlines.ts";

const MAX_DEPTH = 256;
const UTF8 = new TextDecoder("utf-8", { fatal: true });

const notJson = (why: string): AwakenError => new AwakenError("invalid_json", `the body is no JSON: ${why}`);
const tooLarge = (max: number): AwakenError => new AwakenError("payload_too_large", `the body is larger than ${max} bytes`);

/** How deep brackets lie, without making anything of it. */
function checkDepth(text: string): void {
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === 0x22) index = endOfString(text, index);
    else if (code === 0x5b || code === 0x7b) {
      depth += 1;
      if (depth > MAX_DEPTH) throw notJson(`it is nested more than ${MAX_DEPTH} deep`);
    } else if (code === 0x5d || code === 0x7d) depth -= 1;
  }
}

function endOfString(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === 0x5c) index += 1;
    else if (code === 0x22) return index;
  }
  return text.length;
}

const isJsonType = (header: string | null): boolean => /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(header ?? "");

async function readBytes(body: ReadableStream<Uint8Array>, max: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > max) throw tooLarge(max);
    chunks.push(chunk);
  }
  const [first] = chunks;
  if (first !== undefined && chunks.length === 1) return first;
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.byteLength;
  }
  return all;
}

export interface BodyLimits {
  readonly maxBytes: number;
  readonly timeoutMs: number;
  readonly deadlines: Deadlines;
}

/** The body as JSON. Nothing is read of one that says itself that it is too large, or no JSON. */
export async function readBody(request: Request, limits: BodyLimits): Promise<JsonValue | undefined> {
  const { headers } = request;
  const length = headers.get("content-length");
  if (Number(length ?? 0) > limits.maxBytes) throw tooLarge(limits.maxBytes);
  // One that says how long it is comes whole: that costs no stream.
  const isKnown = length !== null && /^\d{1,15}$/.test(length);
  const body = isKnown ? undefined : request.body;
  if (body === null || length === "0") return undefined;
  if (!isJsonType(headers.get("content-type"))) {
    throw new AwakenError("unsupported_media_type", "the body must be JSON: send it with content-type: application/json");
  }
  const encoding = headers.get("content-encoding") ?? "identity";
  if (encoding.toLowerCase() !== "identity") {
    throw new AwakenError("unsupported_media_type", `the body must come as it is, without content-encoding: ${encoding.slice(0, 40)}`);
  }
  const whole = body === undefined ? request.arrayBuffer().then((bytes) => new Uint8Array(bytes)) : readBytes(body, limits.maxBytes);
  const reading = whole.catch((thrown: unknown) => {
    throw AwakenError.is(thrown) ? thrown : new AwakenError("invalid_request", "the body did not come whole", { cause: thrown });
  });
  const { timeoutMs } = limits;
  const bytes = await limits.deadlines.within(
    reading,
    () => new AwakenError("request_timeout", `the body did not come within ${timeoutMs} ms`),
  );
  if (bytes.byteLength > limits.maxBytes) throw tooLarge(limits.maxBytes);
  if (bytes.byteLength === 0) return undefined;
  let text: string;
  try {
    text = UTF8.decode(bytes);
  } catch {
    throw notJson("it is not UTF-8");
  }
  checkDepth(text);
  try {
    return JSON.parse(text);
  } catch {
    throw notJson("its syntax is wrong");
  }
}
