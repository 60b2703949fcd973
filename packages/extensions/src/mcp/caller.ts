import type { JsonObject, ToolErrorCode } from "@awaken/contract";
import type { CallToolResult, Progress } from "@modelcontextprotocol/client";

export interface CallOrder {
  /** As the server names it. */
  readonly tool: string;
  /** Whose call it is. */
  readonly agent: string;
  readonly input: JsonObject;
  readonly meta: JsonObject;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
}

export type CallOutcome =
  | { readonly type: "answered"; readonly result: CallToolResult }
  | { readonly type: "failed"; readonly code: ToolErrorCode; readonly message: string };

/** What the tools of a server need of it. */
export interface Caller {
  /** Never rejects: a server that fails is a result. */
  call(order: CallOrder): Promise<CallOutcome>;
  /** What shows a tool's result to people, as metadata; empty when it cannot be had quickly. */
  readFace(uri: string): Promise<JsonObject>;
}
