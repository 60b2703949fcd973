import type { AgentEvent, BackendResult, ToolCall } from "@awaken/contract";
import type { ChildRequest } from "../tool/child-result.ts";
import type { RunContext } from "./run-context.ts";

/** What a child says while it speaks, as output of the call that asked it. */
export class ChildStream {
  readonly #ctx: RunContext;
  readonly #call: ToolCall;
  readonly #errors: "show" | "drop";
  #text = "";
  /** Where the answer begins that is being given. */
  #from = 0;

  constructor(ctx: RunContext, call: ToolCall, { errors = "show" }: Exclude<ChildRequest["stream"], boolean | undefined>) {
    this.#ctx = ctx;
    this.#call = call;
    this.#errors = errors;
  }

  /** All that it has said. An answer that it began anew is there once. */
  get text(): string {
    return this.#text;
  }

  hear(event: AgentEvent): void {
    if (event.type === "step-start") this.#from = this.#text.length;
    else if (event.type === "stream-reset") this.#text = this.#text.slice(0, this.#from);
    else if (event.type === "text-delta") {
      this.#text += event.delta;
      this.#say(event.delta);
    }
  }

  /** Its failure is for whoever watches: it is not what the child said. */
  end({ status, termination }: BackendResult): void {
    if (status.type !== "failed" || this.#errors === "drop") return;
    const code = termination.type === "error" && termination.code !== undefined ? ` ${termination.code}` : "";
    this.#say(`[child error${code}: ${status.message}]`);
  }

  #say(delta: string): void {
    this.#ctx.emit({ type: "tool-call-stream-delta", toolCallId: this.#call.id, toolName: this.#call.name, delta });
  }
}

/** Undefined: nobody asked to read along. */
export function childStream(ctx: RunContext, call: ToolCall, { stream = false }: ChildRequest): ChildStream | undefined {
  return stream === false ? undefined : new ChildStream(ctx, call, stream === true ? {} : stream);
}
