import type { JsonObject, JsonValue, MediaContent, Suspension, ToolResult } from "@awaken/contract";
import type { Command } from "../phase/command.ts";
import type { ToolReply } from "./tool.ts";

/** What `execute` returns when the plain data is not all it has to say. */
export class Reply implements ToolReply {
  /** What the model and the log get. */
  readonly result: ToolResult;
  /** Committed together with the result. */
  readonly command: Command | undefined;

  constructor(result: ToolResult, command: Command | undefined) {
    this.result = result;
    this.command = command;
  }
}

export interface ReplyExtras {
  /** What the model reads instead of the JSON of the data. */
  readonly message?: string;
  /** Images and documents for the model, beside the text. */
  readonly media?: readonly MediaContent[];
  /** For listeners and records; the model does not see it. */
  readonly metadata?: JsonObject;
  /** Committed together with the result. */
  readonly command?: Command;
}

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
