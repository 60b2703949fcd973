import type { JsonValue, Suspension } from "@awaken/contract";
import { Reply, type ReplyExtras } from "./plain-reply.ts";

export { Reply, type ReplyExtras } from "./plain-reply.ts";

/** A result with more than data: a text for the model, media, or a command to commit with it. */
export function reply(data: JsonValue, extras: ReplyExtras = {}): Reply {
  const { command, ...rest } = extras;
  return new Reply({ type: "success", data, ...rest }, command);
}

export interface FailExtras extends Pick<ReplyExtras, "metadata" | "command"> {
  /** More about the failure, for programs; the model reads the message alone. */
  readonly data?: JsonValue;
}

/** A failure that the model should know by code. */
export function fail(code: string, message: string, extras: FailExtras = {}): Reply {
  const { command, ...rest } = extras;
  return new Reply({ type: "error", code, message, ...rest }, command);
}

/** Stops the call here until somebody decides. The tool runs again, or the decision becomes its result, as the resume mode says. */
export function wait(
  suspension: Omit<Suspension, "id" | "expiresAt">,
  extras: Pick<ReplyExtras, "message" | "metadata" | "command"> = {},
): Reply {
  const { command, ...rest } = extras;
  return new Reply({ type: "pending", suspension, ...rest }, command);
}
