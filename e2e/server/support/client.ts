import { type AgentEvent, isJsonObject, type JsonObject, type JsonValue } from "@awaken/contract";
import { type AwakenServer, createServer, type ServerInit } from "@awaken/server";
import { quiet } from "../../relay/support/speaker.ts";
import { held } from "./named.ts";

/** One frame of a stream as it came. */
export interface Frame {
  readonly id?: string;
  readonly event?: string;
  readonly data: AgentEvent & JsonObject;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: JsonObject;
}

/** Open to all. Its answers are those that the table of routes names. */
export const openServer = (init: ServerInit): AwakenServer => createServer(held({ access: "open", log: quiet, ...init }));

const toBody = (text: string): JsonObject => {
  const body: JsonValue = text === "" ? {} : text.startsWith("{") ? JSON.parse(text) : text;
  return isJsonObject(body) ? body : { body };
};

export interface AskOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export const request = (method: string, path: string, { body, headers, signal }: AskOptions = {}): Request =>
  new Request(`http://localhost${path}`, {
    method,
    ...(body === undefined ? undefined : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    headers: { ...(body === undefined ? undefined : { "content-type": "application/json" }), ...headers },
    ...(signal === undefined ? undefined : { signal }),
  });

/** Asks for JSON. */
export async function ask({ fetch }: Pick<AwakenServer, "fetch">, method: string, path: string, options?: AskOptions): Promise<Reply> {
  const response = await fetch(request(method, path, options));
  return { status: response.status, headers: response.headers, body: toBody(await response.text()) };
}

function frameOf(text: string): Frame | undefined {
  const fields = new Map(
    text
      .split("\n")
      .flatMap((line) => (line.startsWith(":") ? [] : [[line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)] as const])),
  );
  const data = fields.get("data");
  if (data === undefined) return undefined;
  const [id, event] = [fields.get("id"), fields.get("event")];
  return { data: JSON.parse(data), ...(id === undefined ? undefined : { id }), ...(event === undefined ? undefined : { event }) };
}

/** Frames as they come. */
export async function* framesOf(response: Response): AsyncGenerator<Frame, void, undefined> {
  if (response.body === null) return;
  let rest = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    rest += chunk;
    const parts = rest.split("\n\n");
    rest = parts.pop() ?? "";
    for (const part of parts) {
      const frame = frameOf(part);
      if (frame !== undefined) yield frame;
    }
  }
}

/** Reads a stream until a frame is the last one that is wanted, or it ends. */
export async function readFrames(response: Response, isLast: (frame: Frame) => boolean = () => false): Promise<readonly Frame[]> {
  const frames: Frame[] = [];
  for await (const frame of framesOf(response)) {
    frames.push(frame);
    if (isLast(frame)) break;
  }
  return frames;
}

export const textOf = (frames: readonly Frame[]): string =>
  frames.flatMap(({ data }) => (data.type === "text-delta" ? [data.delta] : [])).join("");
