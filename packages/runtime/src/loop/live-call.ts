import type { EditedInput, JsonValue, MessageId, ToolCall } from "@awaken/contract";
import type { ResumedCall } from "../phase/hook.ts";
import type { PreparedCall, Tool, ToolReply } from "../tool/tool.ts";
import type { Intercept } from "../tool/verdict.ts";

/** A call in the hands of the loop. */
export interface LiveCall {
  readonly call: ToolCall;
  /** The assistant message that asks for it. */
  readonly messageId: MessageId;
  /** Set when the call was suspended and has been decided. */
  readonly resume: ResumedCall | undefined;
  /** Set when the input is another one than the model wrote. */
  readonly edited?: EditedInput;
  /** Its message was committed by an earlier activation of the run: it waited, or the process died. */
  readonly isReplay: boolean;
  /** What its effect is known by. Set when it may run. */
  readonly idempotencyKey?: string;
}

/** A call that may run, with its checked input. */
export type ReadyCall = LiveCall & { readonly prepared: PreparedCall; readonly tool: Tool; readonly idempotencyKey: string };

/** A call that passed its gates, or has its result already. */
export type AllowedCall = ReadyCall | (LiveCall & { readonly reply: ToolReply });

/** What became of a call before it ran. */
export type Gated =
  | { readonly type: "allowed"; readonly call: AllowedCall }
  | { readonly type: "intercepted"; readonly intercept: Intercept };

/** The input that the tool gets: what the model wrote, unless whoever approved it wrote something else. */
export function inputOf(live: LiveCall): JsonValue {
  const decision = live.resume?.decision;
  return decision?.action === "approve" && decision.input !== undefined ? decision.input : live.call.input;
}
