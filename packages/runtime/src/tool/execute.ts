import { errorMessage, type ToolErrorCode, type ToolResult } from "@awaken/contract";
import type { Bounds, Watch } from "../stream/bounds.ts";
import type { Clock } from "../stream/clock.ts";
import { type Late, withRoom } from "../stream/door.ts";
import { plainData } from "./plain-data.ts";
import { seldom } from "./seldom-door.ts";
import type { PreparedCall, ToolContext, ToolReply } from "./tool.ts";

/** What a tool may fail with before it has said a word. */
type FailureCode = Exclude<ToolErrorCode, "not_found" | "interrupted">;

const WORDS: Record<FailureCode, string> = {
  invalid_arguments: "Invalid arguments",
  execution_failed: "Execution failed",
  timeout: "Timeout",
  cancelled: "Cancelled",
  denied: "Denied",
  internal: "Internal error",
};

/** A failure in the words that the model reads. */
export function toolFailure(
  code: FailureCode,
  detail: string,
  metadata?: { readonly timedOut?: true; readonly rejected?: true },
): ToolResult {
  return { type: "error", code, message: `${WORDS[code]}: ${detail}`, ...(metadata === undefined ? undefined : { metadata }) };
}

/** A call that is about to run, and how long it may. */
export interface Execution {
  readonly prepared: PreparedCall;
  readonly context: ToolContext;
  /** The tool's own, behind the signal of its context. Without one the tool has the run's signal itself. */
  readonly controller: AbortController | undefined;
  readonly run: AbortSignal;
  /** The run's. */
  readonly bounds: Pick<Bounds, "add" | "leave">;
  readonly clock: Clock;
  readonly timeoutMs: number | undefined;
  /** After the run's abort: how long to wait for the tool to stop by itself. */
  readonly graceMs: number;
  /** Closed when the call has its reply: what the tool does from then on is nobody's business. */
  readonly reporter: { close(): void };
}

function plainReply(tool: string, reply: ToolReply): Late<ToolReply> {
  try {
    const { result, command } = reply;
    const data = plainData(result);
    if (data !== undefined) return { result: data, command };
    const plain = withRoom(seldom.open(), result, ({ plainResult }, given) => ({ result: plainResult(`tool '${tool}'`, given), command }));
    return plain instanceof Promise ? plain.catch(refused) : plain;
  } catch (thrown) {
    return refused(thrown);
  }
}

const refused = (thrown: unknown): ToolReply => ({ result: toolFailure("internal", errorMessage(thrown)), command: undefined });

/** Also a tool that throws before it gives a promise. */
function begin({ prepared, context }: Execution): Promise<ToolReply> {
  try {
    return Promise.resolve(prepared.execute(context));
  } catch (thrown) {
    return Promise.reject(thrown);
  }
}

/**
 * Runs a tool and tells its reply once, whatever happens: a throw, a timeout and a cancel are results. The tool's own signal aborts with the
 * run and at the timeout. A tool that does not stop is left behind; what it does later is ignored.
 */
export const executeCall = (execution: Execution, done: (reply: ToolReply) => void): void => new Executing(execution, done).begin();

const NOTHING = () => {};

/** It watches for the abort itself: a closure less for each call, and one less to leave with. */
class Executing implements Watch {
  readonly #execution: Execution;
  #done: (reply: ToolReply) => void;
  #stopTimer = NOTHING;
  #stopGrace = NOTHING;

  constructor(execution: Execution, done: (reply: ToolReply) => void) {
    this.#execution = execution;
    this.#done = done;
  }

  begin(): void {
    const { bounds, clock, timeoutMs } = this.#execution;
    bounds.add(this);
    if (timeoutMs !== undefined) this.#stopTimer = clock.timer(timeoutMs, () => this.#timeOut(timeoutMs));
    begin(this.#execution).then(
      (reply) => this.#answered(reply),
      (thrown: unknown) => this.#threw(thrown),
    );
  }

  aborted(): void {
    this.#execution.bounds.leave(this);
    const { controller, run, clock, graceMs } = this.#execution;
    controller?.abort(run.reason);
    this.#stopGrace = clock.timer(graceMs, () => this.#fail(toolFailure("cancelled", "the tool did not stop in time")));
  }

  #answered(reply: ToolReply): void {
    // It answered in time, however long the part takes that reads the answer.
    this.#stopTimer();
    const plain = plainReply(this.#execution.context.toolName, reply);
    if (plain instanceof Promise) void plain.then((read) => this.#end(read));
    else this.#end(plain);
  }

  #threw(thrown: unknown): void {
    this.#fail(toolFailure(this.#execution.run.aborted ? "cancelled" : "execution_failed", errorMessage(thrown)));
  }

  #timeOut(ms: number): void {
    this.#execution.controller?.abort(new DOMException("the tool took too long", "TimeoutError"));
    this.#fail(toolFailure("timeout", `no result within ${ms} ms`, { timedOut: true }));
  }

  #fail(result: ToolResult): void {
    this.#end({ result, command: undefined });
  }

  #end(reply: ToolReply): void {
    this.#stopTimer();
    this.#stopGrace();
    this.#execution.bounds.leave(this);
    this.#execution.reporter.close();
    const done = this.#done;
    this.#done = NOTHING;
    done(reply);
  }
}
