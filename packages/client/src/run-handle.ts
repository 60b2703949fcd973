import type { Schema } from "@awaken/contract";
import { AwakenError, validate } from "@awaken/contract";
import type { Answer } from "./endpoints.ts";
import type { AttachedEvent } from "./events.ts";
import { LONG } from "./patience.ts";
import type { Transport } from "./transport.ts";

type Result = Answer<"waitForRun">;
type Done = Extract<Result, { readonly status: "done" }>;

/** How a run ended or where it waits, as the runtime gives it. */
export type RunResult<O = unknown> =
  | Exclude<Result, Done>
  | (Omit<Done, "output"> & {
      /** The answer as the schema of the request made it; undefined when the request had none. */
      readonly output: O;
    });

/** How long the server holds one question. */
const HOLD_MS = 25_000;

/** Asks until the run is over or waits. */
export async function waitFor(transport: Transport, runId: string, signal?: AbortSignal): Promise<Result> {
  for (;;) {
    try {
      return await transport.insist("waitForRun", { ids: { id: runId }, query: { timeoutMs: HOLD_MS }, heldMs: HOLD_MS, signal }, LONG);
    } catch (thrown) {
      if (!AwakenError.is(thrown) || thrown.code !== "timeout") throw thrown;
    }
  }
}

export async function readResult<O>(result: Result, schema: Schema<O> | undefined): Promise<RunResult<O>>;
export async function readResult(result: Result, schema: Schema | undefined): Promise<RunResult> {
  if (result.status !== "done") return result;
  if (schema === undefined) return { ...result, output: result.output };
  const checked = await validate(schema, result.output);
  if (checked.type === "valid") return { ...result, output: checked.value };
  throw new AwakenError("output_invalid", `the answer does not fit its schema: ${checked.message}`);
}

/** Where a run is, once the server has taken it. */
export interface Begun {
  /** For `wait`, `attach` and `cancel`. */
  readonly runId: string;
  /** For the next request. */
  readonly threadId: string;
}

export interface RunHandleInit<O> {
  /** Resolves when the server has taken it. */
  readonly begun: Promise<Begun>;
  /** Reads them from the beginning of the handle. */
  readonly events: () => AsyncGenerator<AttachedEvent, undefined>;
  /** Asks for it. */
  readonly result: () => Promise<RunResult<O>>;
}

/** A run on the server: its events, once, and its result. Whoever stops reading only detaches. */
export class RunHandle<O = unknown> implements AsyncIterable<AttachedEvent> {
  readonly #init: RunHandleInit<O>;
  #result: Promise<RunResult<O>> | undefined;

  constructor(init: RunHandleInit<O>) {
    this.#init = init;
    // Whoever reads events or the result is told.
    init.begun.catch(() => {});
  }

  /** The run, for `wait`, `attach` and `cancel`. Rejects when it could not begin. */
  get id(): Promise<string> {
    return this.#init.begun.then(({ runId }) => runId);
  }

  /** The thread of the run, also when it was made for it. */
  get threadId(): Promise<string> {
    return this.#init.begun.then(({ threadId }) => threadId);
  }

  /** Rejects when the run could not begin; how it ended otherwise, failures too, is in the result. */
  get result(): Promise<RunResult<O>> {
    this.#result ??= this.#init.result();
    return this.#result;
  }

  [Symbol.asyncIterator](): AsyncGenerator<AttachedEvent, undefined> {
    return this.#init.events();
  }
}
