import { AwakenError, type ErrorCode } from "@awaken/contract";

/** Nobody answered: what was asked may have happened, or not. */
export const UNREACHABLE = "server_unreachable";

/** How long somebody goes on asking while nobody answers. */
export interface Patience {
  /** How often in a row it may fail before he is told. */
  readonly tries: number;
  /** When the server says that it is away for longer, he is told at once. */
  readonly maxAwayMs: number;
}

/** For one who waits for an answer: some seconds. */
export const SHORT: Patience = { tries: 6, maxAwayMs: 10_000 };
/** For one who follows a run, or waits for its end: about five minutes of a server that cannot be reached. */
export const LONG: Patience = { tries: 40, maxAwayMs: 300_000 };

const FIRST_MS = 200;
const MAX_PAUSE_MS = 10_000;

const PASSING: ReadonlySet<ErrorCode> = new Set([UNREACHABLE, "server_busy", "shutting_down", "storage_io"]);

/** Whether a server that is restarted, or another one behind the same address, may answer. */
const canPass = (thrown: unknown): thrown is AwakenError => AwakenError.is(thrown) && PASSING.has(thrown.code);

const awayMs = ({ details }: AwakenError): number => {
  const told = details?.["retryAfterMs"];
  return typeof told === "number" ? told : 0;
};

/** How long to wait after so many failures in a row, the last of which was this one; thrown again when waiting does not help. */
export function pauseAfter(thrown: unknown, failures: number, { tries, maxAwayMs }: Patience): number {
  if (!canPass(thrown) || failures >= tries) throw thrown;
  const away = awayMs(thrown);
  if (away > maxAwayMs) throw thrown;
  // Whoever was sent away at the same moment comes back at another one.
  return away + Math.min(FIRST_MS * 2 ** (failures - 1), MAX_PAUSE_MS) * (0.5 + Math.random() / 2);
}

/** `Retry-After` in ms: seconds, or a moment by the server's own clock. */
export function readRetryAfter(headers: Headers): number | undefined {
  const told = headers.get("retry-after") ?? "";
  if (/^\d+$/.test(told)) return Number(told) * 1_000;
  const at = Date.parse(told);
  if (Number.isNaN(at)) return undefined;
  const now = Date.parse(headers.get("date") ?? "");
  return Math.max(0, at - (Number.isNaN(now) ? Date.now() : now));
}

export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", leave);
      resolve();
    }, ms);
    if (signal?.aborted === true) leave();
    else signal?.addEventListener("abort", leave, { once: true });
  });
}

/** Again, while it may pass by itself. */
export async function insist<T>(ask: () => Promise<T>, signal: AbortSignal | undefined, patience = SHORT): Promise<T> {
  for (let failures = 1; ; failures++) {
    let pauseMs: number;
    try {
      return await ask();
    } catch (thrown) {
      pauseMs = pauseAfter(thrown, failures, patience);
    }
    await sleep(pauseMs, signal);
  }
}
