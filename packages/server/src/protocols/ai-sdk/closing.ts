import type { Chunk, Dialect, FinishReason } from "./chunk.ts";
import type { EventOf } from "./shown-calls.ts";

/** How a stream ends. */
export interface Closing {
  readonly chunks: readonly Chunk[];
  /** What calls without an outcome are told. */
  readonly forCalls: string;
}

const TOKEN_LIMITS: ReadonlySet<string> = new Set(["max-tokens", "token-budget"]);

export function closingOf(event: EventOf<"run-end">, dialect: Dialect): Closing {
  const { termination, result, usage } = event;
  const finish = (finishReason: FinishReason): Chunk => ({ type: "finish", finishReason, messageMetadata: { usage } });
  if (result.status === "failed") {
    return { chunks: [{ type: "error", errorText: result.error.message }, finish("error")], forCalls: result.error.message };
  }
  switch (termination.type) {
    case "natural-end":
    case "behavior-requested":
      return { chunks: [finish("stop")], forCalls: "the run ended" };
    case "suspended":
      return { chunks: [finish("tool-calls")], forCalls: "the run waits" };
    case "stopped":
      return {
        chunks: [finish(TOKEN_LIMITS.has(termination.code) ? "length" : "other")],
        forCalls: `the run was stopped: ${termination.detail ?? termination.code}`,
      };
    case "cancelled":
      return {
        chunks: [{ type: "abort", reason: "cancelled" }, finish(dialect === 7 ? "interrupted" : "other")],
        forCalls: "the run was cancelled",
      };
    case "blocked":
      return { chunks: [{ type: "error", errorText: termination.reason }, finish("content-filter")], forCalls: termination.reason };
    case "error":
      return { chunks: [{ type: "error", errorText: termination.message }, finish("error")], forCalls: termination.message };
  }
}
