import { errorMessage, type ToolErrorCode, type ToolResult } from "@awaken/contract";
import { onAbort } from "../stream/abort.ts";
import type { Clock } from "../stream/clock.ts";
import { plainResult } from "./plain.ts";
import type { PreparedCall, ToolContext, ToolReply } from "./tool.ts";

const WORDS: Record<ToolErrorCode, string> = {
  invalid_arguments: "Invalid arguments",
  execution_failed: "Execution failed",
  timeout: "Timeout",
  cancelled: "Cancelled",
  denied: "Denied",
  not_found: "Not found",
  interrupted: "Interrupted",
  internal: "Internal error",
};

/** A failure in the words that the model reads. */
export function toolFailure(
  code: ToolErrorCode,
  detail: string,
  metadata?: { readonly timedOut?: true; readonly rejected?: true },
): ToolResult {
  return { type: "error", code, message: `${WORDS[code]}: ${detail}`, ...(metadata === undefined ? {} : { metadata }) };
}

export interface ExecuteLimits {
  readonly clock: Clock;
  readonly timeoutMs: number | undefined;
  /** After the run's abort: how long to wait for the tool to stop by itself. */
  readonly graceMs: number;
  /** The call has its reply: what the tool does from now on is nobody's business. */
  readonly onSettled: () => void;
}

function plainReply(given: ToolReply): ToolReply {
  try {
    return { result: plainResult(given.result), command: given.command };
  } catch (thrown) {
    return { result: toolFailure("internal", `the tool's result cannot be used: ${errorMessage(thrown)}`), command: undefined };
  }
}

/** Also a tool that throws before it gives a promise. */
function begin(prepared: PreparedCall, context: ToolContext): Promise<ToolReply> {
  try {
    return Promise.resolve(prepared.execute(context));
  } catch (thrown) {
    return Promise.reject(thrown);
  }
}

/**
 * Runs a tool and gives its reply, whatever happens: a throw, a timeout and a cancel are results. The tool's own signal aborts with the
 * run and at the timeout. A tool that does not stop is left behind; what it does later is ignored.
 */
export function executeCall(
  prepared: PreparedCall,
  contextOf: (signal: AbortSignal) => ToolContext,
  run: AbortSignal,
  limits: ExecuteLimits,
): Promise<ToolReply> {
  const { timeoutMs } = limits;
  // Without a limit of its own the tool can have the run's signal itself.
  const own = timeoutMs === undefined ? undefined : new AbortController();
  return new Promise((resolve) => {
    let stopTimer = () => {};
    let stopGrace = () => {};
    const settle = (reply: ToolReply) => {
      stopTimer();
      stopGrace();
      offAbort();
      limits.onSettled();
      resolve(reply);
    };
    const fail = (result: ToolResult) => settle({ result, command: undefined });
    const offAbort = onAbort(run, () => {
      own?.abort(run.reason);
      stopGrace = limits.clock.timer(limits.graceMs, () => fail(toolFailure("cancelled", "the tool did not stop in time")));
    });
    if (timeoutMs !== undefined) {
      stopTimer = limits.clock.timer(timeoutMs, () => {
        own?.abort(new DOMException("the tool took too long", "TimeoutError"));
        fail(toolFailure("timeout", `no result within ${timeoutMs} ms`, { timedOut: true }));
      });
    }
    begin(prepared, contextOf(own?.signal ?? run)).then(
      (reply) => settle(plainReply(reply)),
      (thrown: unknown) => fail(toolFailure(run.aborted ? "cancelled" : "execution_failed", errorMessage(thrown))),
    );
  });
}
