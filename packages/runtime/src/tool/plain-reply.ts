import type { JsonObject, MediaContent, ToolResult } from "@awaken/contract";
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
