import {
  type AgentEvent,
  AwakenError,
  copyJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type RunId,
  runId,
  type Schema,
  type ThreadId,
  threadId,
  toJson,
  toJsonSchema,
  type Validated,
  validate,
} from "@awaken/contract";
import { isLeft, type LeftRun, type LoopOutcome, type LoopResult } from "../loop/finish.ts";
import type { RunOrder } from "../loop/run-order.ts";
import type { Hearer } from "../stream/listeners.ts";
import type { TenantParts } from "./run-parts.ts";
import { type RunRequest, readRequest } from "./run-request.ts";
import { type RunResult, toRunResult } from "./run-result.ts";

/** Who is told of the run while it happens. */
export type Told = Hearer<AgentEvent> | undefined;

/** A run that begins, now or when its thread is free. */
export interface BegunRun {
  readonly run: { readonly runId: RunId; readonly threadId: ThreadId };
  readonly result: Promise<LoopOutcome>;
}

/** How a request that was read begins. */
export type Begin = (order: RunOrder, told: Told) => BegunRun;

/** A request on its way: refused ones have ids too, so that there is one way to tell what became of them. */
export interface StartedRequest<O> {
  readonly run: { readonly runId: RunId; readonly threadId: ThreadId };
  readonly result: Promise<RunResult<O>>;
}

/** Never throws: whatever is wrong with the request is the result's rejection. */
export function startRequest<O>(parts: TenantParts, request: RunRequest<O>, begin: Begin, told?: Told): StartedRequest<O> {
  let order: RunOrder | undefined;
  try {
    order = readRequest(request, parts.ids, parts.clock);
    const output: TypedOutput<O> = request.output === undefined ? UNASKED : new TypedOutput(request.output);
    const { run, result } = begin(output.addTo(order), told);
    return { run, result: output.resultOf(parts, result, order.signal, told) };
  } catch (thrown) {
    const refused = { runId: runId(parts.ids()), threadId: order?.threadId ?? threadId(parts.ids()) };
    return { run: refused, result: Promise.reject<RunResult<O>>(thrown) };
  }
}

/** For the record, which the library's own object is not. */
function ownSchema(schema: Schema): JsonObject {
  const json = toJson(toJsonSchema(schema));
  if (isJsonObject(json)) return copyJson(json);
  throw new AwakenError("invalid_schema", "schema library returned no JSON Schema object");
}

/** Without a schema nobody said what the answer is: its type is that of anything. */
const isUnasked = <O>(schema: Schema<O> | undefined, _value: unknown): _value is O => schema === undefined;

/** Keeps the answer as the schema gave it: what is recorded of it is JSON, and its type is gone. */
class TypedOutput<O> {
  readonly #schema: Schema<O> | undefined;
  #checked: { readonly value: O } | undefined;

  constructor(schema: Schema<O> | undefined) {
    this.#schema = schema;
  }

  addTo(order: RunOrder): RunOrder {
    const schema = this.#schema;
    if (schema === undefined) return order;
    const options = { ...order.options, output: ownSchema(schema) };
    return { ...order, options, checkOutput: (value) => this.#check(schema, value) };
  }

  /** A run that left before its end has its answer from wherever it went on: it is checked once more, here. */
  resultOf(parts: TenantParts, result: Promise<LoopOutcome>, signal: AbortSignal | undefined, told: Told): Promise<RunResult<O>> {
    return result.then((outcome) => {
      if (isLeft(outcome)) return this.#resultElsewhere(parts, outcome, signal, told);
      return outcome.hasStarted ? this.#resultOfFamily(parts, outcome) : toRunResult(outcome, (recorded) => this.read(recorded));
    });
  }

  async #resultElsewhere(parts: TenantParts, left: LeftRun, signal: AbortSignal | undefined, told: Told): Promise<RunResult<O>> {
    const ended = await parts.more.followedElsewhere(parts, left, { signal, told });
    if (this.#schema !== undefined && ended.output !== undefined) await this.#check(this.#schema, ended.output);
    return this.#resultOfFamily(parts, ended);
  }

  async #resultOfFamily(parts: TenantParts, ended: LoopResult): Promise<RunResult<O>> {
    return toRunResult(await parts.more.withFamily(parts, ended), (recorded) => this.read(recorded));
  }

  /** Of a run that is done. One that goes on may have been asked for an answer before: then it is that of its record. */
  read(recorded: JsonValue | undefined): O {
    if (this.#checked !== undefined) return this.#checked.value;
    if (isUnasked(this.#schema, recorded)) return recorded;
    throw new AwakenError("internal", "a run with a typed answer is done without one");
  }

  async #check(schema: Schema<O>, value: unknown): Promise<Validated<O>> {
    const checked = await validate(schema, value);
    this.#checked = checked.type === "valid" ? { value: checked.value } : undefined;
    return checked;
  }
}

/** Keeps nothing: all runs that were asked for no shape share it. */
const UNASKED = new TypedOutput<never>(undefined);
