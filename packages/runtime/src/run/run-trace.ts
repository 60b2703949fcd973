import {
  ADAPTERS,
  type Adapter,
  checkOptions,
  ORIGINS,
  type Origin,
  type PartRules,
  RULES,
  RUN_MODES,
  type RunMode,
  runId,
  threadId,
  toolCallId,
} from "@awaken/contract";
import type { OrderTrace } from "../loop/run-order.ts";
import { INVALID, refuse } from "./refuse-request.ts";

/** Where a run comes from, for records and hooks. */
export interface RunTraceInput {
  /** Who asked for it. Default `user`. */
  readonly origin?: Origin;
  /** Whether somebody waits for it. Default `foreground`. */
  readonly runMode?: RunMode;
  /** The protocol that it came in by. Default `internal`. */
  readonly adapter?: Adapter;
  /** The run that started this one. */
  readonly parentRunId?: string;
  /** The first run of that line. Default: the parent. */
  readonly rootRunId?: string;
  /** The thread of that run. */
  readonly parentThreadId?: string;
  /** The call of the parent run that started this one. */
  readonly parentToolCallId?: string;
  /** The session of the client. */
  readonly sessionId?: string;
  /** The request that brought it, as the transport names it. */
  readonly transportRequestId?: string;
  /** What the caller ties its own records together with. */
  readonly correlationId?: string;
  /** The trace that it belongs to, as the W3C header `traceparent` has it. */
  readonly traceParent?: string;
}

const TRACE: PartRules<RunTraceInput> = {
  origin: RULES.oneOf(...ORIGINS),
  runMode: RULES.oneOf(...RUN_MODES),
  adapter: RULES.oneOf(...ADAPTERS),
  parentRunId: RULES.name,
  rootRunId: RULES.name,
  parentThreadId: RULES.name,
  parentToolCallId: RULES.name,
  sessionId: RULES.name,
  transportRequestId: RULES.name,
  correlationId: RULES.name,
  traceParent: RULES.name,
};

/** What is said of it in a request. */
interface TracedRequest {
  readonly trace?: RunTraceInput;
  readonly thread?: string;
  readonly runId?: string;
}

const NO_TRACE: OrderTrace = Object.freeze({});

/** Callers without our compiler settings may give `undefined` for what they leave out. */
export function readTrace({ trace, thread, runId: own }: TracedRequest): OrderTrace {
  if (trace === undefined) return NO_TRACE;
  checkOptions(INVALID, "the trace of a run request", trace, TRACE);
  const { origin, runMode, adapter, parentRunId, rootRunId = parentRunId, parentThreadId, parentToolCallId } = trace;
  const { sessionId, transportRequestId, correlationId, traceParent } = trace;
  if (thread !== undefined && parentThreadId === thread) refuse(`thread '${thread}' cannot be its own parent`);
  if (parentRunId === undefined && rootRunId !== undefined) refuse("a run below another one has a parent: say which");
  if (own !== undefined && (own === parentRunId || own === rootRunId)) refuse(`run '${own}' cannot be its own parent`);
  return {
    ...(origin === undefined ? undefined : { origin }),
    ...(runMode === undefined ? undefined : { runMode }),
    ...(adapter === undefined ? undefined : { adapter }),
    ...(parentRunId === undefined ? undefined : { parentRunId: runId(parentRunId) }),
    ...(rootRunId === undefined ? undefined : { rootRunId: runId(rootRunId) }),
    ...(parentThreadId === undefined ? undefined : { parentThreadId: threadId(parentThreadId) }),
    ...(parentToolCallId === undefined ? undefined : { parentToolCallId: toolCallId(parentToolCallId) }),
    ...(sessionId === undefined ? undefined : { sessionId }),
    ...(transportRequestId === undefined ? undefined : { transportRequestId }),
    ...(correlationId === undefined ? undefined : { correlationId }),
    ...(traceParent === undefined ? undefined : { traceParent }),
  };
}
