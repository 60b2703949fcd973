import { vi } from "vitest";
import { type ClientInit, createClient } from "./index.ts";

// A server that says what a test tells it to, byte by byte.

export type Turn = (request: Request) => Response | Promise<Response>;

export interface Scripted {
  readonly client: ReturnType<typeof createClient>;
  /** What was asked, in order, with the cursor that it came with. */
  readonly asked: readonly string[];
}

/** Answers the first request with the first turn and so on; the last one again and again. */
export function answering(turns: readonly Turn[], init: Partial<ClientInit> = {}): Scripted {
  const asked: string[] = [];
  const fetch = async (request: Request): Promise<Response> => {
    const turn = turns[Math.min(asked.length, turns.length - 1)];
    const cursor = request.headers.get("last-event-id");
    asked.push(`${request.method} ${new URL(request.url).pathname}${cursor === null ? "" : ` behind ${cursor}`}`);
    if (turn === undefined) throw new TypeError("nobody is there");
    return turn(request);
  };
  return { client: createClient({ url: "http://localhost", fetch, ...init }), asked };
}

type Ending = "end" | "break" | "stay";

/** An event stream in these pieces, which then ends, breaks, or stays open until whoever reads it leaves. */
export function streaming(pieces: readonly Uint8Array[], ending: Ending = "end", headers: Readonly<Record<string, string>> = {}): Turn {
  return ({ signal }) => {
    const left = [...pieces];
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        signal.addEventListener("abort", () => controller.error(signal.reason));
      },
      pull(controller) {
        const piece = left.shift();
        if (piece !== undefined) controller.enqueue(piece);
        else if (ending === "end") controller.close();
        else if (ending === "break") controller.error(new TypeError("terminated"));
        else return new Promise(() => {});
        return undefined;
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream; charset=utf-8", ...headers } });
  };
}

const ENCODER = new TextEncoder();
export const bytes = (text: string): Uint8Array => ENCODER.encode(text);

export const refusing =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Turn =>
  () =>
    new Response(typeof body === "string" ? body : JSON.stringify(body), { status, headers });

export const noThread = refusing(404, { error: "there is no thread", code: "thread_not_found" });
export const unreachable: Turn = () => Promise.reject(new TypeError("fetch failed"));

/** Lets time pass until it is settled, and says how much that was. */
export async function played<T>(work: Promise<T>): Promise<{ readonly value: T; readonly ms: number }> {
  let isSettled = false;
  const settled = work.finally(() => {
    isSettled = true;
  });
  settled.catch(() => {});
  const from = performance.now();
  for (let rounds = 0; rounds < 100_000 && !isSettled; rounds++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (!isSettled) await vi.advanceTimersToNextTimerAsync();
  }
  return { value: await settled, ms: performance.now() - from };
}

export const useFakeTime = (): void => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
