import {
  AwakenError,
  type CreatedRun,
  dispatchId,
  type JsonObject,
  type Message,
  NO_USAGE,
  RUN_SCHEMA_VERSION,
  type RunId,
  type RunRecord,
  runId,
  type ThreadId,
  toJsonSchema,
} from "@awaken/contract";
import { type NewPending, resumeKey, type ThreadCommit } from "@awaken/contract/store";
import { traceOf } from "../loop/resume/activate.ts";
import type { RunOrder } from "../loop/resume/run-order.ts";
import { defaultAgent } from "../run/default-agent.ts";
import { type RunRequest, readRequest } from "../run/run-request.ts";
import type { Tenant } from "./tenant.ts";

/** What may be said about a run that is started for later, beside the request itself. */
export interface StartOptions {
  /** 0 first, 255 last, among what waits on one thread. Default 128. */
  readonly priority?: number;
  /** While a run of the thread that was started with this key is not over, another one is refused with `storage_already_exists`. */
  readonly dedupeKey?: string;
}

/** A request, and when it is its turn. */
export interface StartRequest extends Omit<RunRequest, "signal" | "resume" | "decisions">, StartOptions {}

/** Where a started run will be. */
export interface Started {
  /** For `wait`, `attach` and `cancel`. A thread that waits goes on with the run that it waits with. */
  readonly runId: RunId;
  /** Also when it was made for it. */
  readonly threadId: ThreadId;
}

const forRun = (messages: readonly Message[], target: RunId, boundary: "new-run" | "resume-input"): readonly NewPending[] =>
  messages.map((message) => ({ message, deliveryMode: { boundary, targetRunId: target, fallbackToNewRun: false } }));

/** Durable when it returns: the run, its messages and its place in the queue are one commit. Workers of any process execute it. */
export async function start(tenant: Tenant, request: StartRequest): Promise<Started> {
  const { ids, clock, queue, ask } = tenant;
  const { priority, dedupeKey, ...asked } = request;
  const order = readRequest(asked, ids, clock);
  const { threadId } = order;
  const thread = await ask("load a thread", queue.threads.loadHead(threadId));
  const open = thread?.openRun;
  if (open?.status === "waiting" && order.intent.runId === undefined) return goOn(tenant, order, open);
  const id = order.intent.runId ?? runId(ids());
  const agentId = order.agentId ?? thread?.latestRun?.agentId ?? defaultAgent(tenant.parts.resolver.open());
  const commit: ThreadCommit = {
    threadId,
    runId: id,
    run: createdRun(order, {
      runId: id,
      agentId,
      output: asked.output === undefined ? undefined : toJsonSchema(asked.output),
      now: clock.now(),
    }),
    isNewRun: true,
    pending: { append: forRun(order.input, id, "new-run") },
    dispatch: {
      type: "enqueue",
      dispatch: {
        dispatchId: dispatchId(id),
        threadId,
        runId: id,
        maxAttempts: tenant.maxAttempts,
        ...(priority === undefined ? undefined : { priority }),
        ...(dedupeKey === undefined ? undefined : { dedupeKey }),
      },
    },
  };
  await ask("start a run", queue.commit(commit));
  return { runId: id, threadId };
}

/**
 * The run waits: it goes on with what is said now. The messages have a dispatch that is queued together with them: whoever takes up the
 * run at this moment may have read what waits already.
 */
async function goOn({ queue, ask, ids, maxAttempts }: Tenant, { threadId, input }: RunOrder, { runId: id }: RunRecord): Promise<Started> {
  const dispatch = { dispatchId: dispatchId(ids()), threadId, runId: id, maxAttempts };
  const commit: ThreadCommit = { threadId, runId: id, pending: { append: forRun(input, id, "resume-input") } };
  try {
    const keyed = { ...dispatch, dedupeKey: resumeKey(id) };
    await ask("resume a run", queue.commit({ ...commit, dispatch: { type: "enqueue", dispatch: keyed } }));
  } catch (thrown) {
    if (!AwakenError.is(thrown) || thrown.code !== "storage_already_exists") throw thrown;
    await ask("resume a run", queue.commit({ ...commit, dispatch: { type: "enqueue", dispatch } }));
  }
  return { runId: id, threadId };
}

interface NewRun {
  readonly runId: RunId;
  readonly agentId: string;
  /** JSON Schema of the answer. */
  readonly output: JsonObject | undefined;
  readonly now: number;
}

function createdRun({ threadId, trace, principal, options }: RunOrder, { runId: id, agentId, output, now }: NewRun): CreatedRun {
  const identity = { threadId, runId: id, agentId, origin: "user", adapter: "internal", runMode: "scheduled", ...trace } as const;
  const { parentRunId, rootRunId, sessionId, traceParent } = identity;
  return {
    schemaVersion: RUN_SCHEMA_VERSION,
    status: "created",
    runId: id,
    threadId,
    agentId,
    activation: {
      intent: { type: "new-intent" },
      options: { frontendTools: [], ...options, ...(output === undefined ? undefined : { output }) },
      trace: traceOf(identity),
    },
    input: { triggerMessageIds: [], selectedMessageIds: [] },
    dispatchId: dispatchId(id),
    ...(parentRunId === undefined ? undefined : { parentRunId }),
    ...(rootRunId === undefined ? undefined : { rootRunId }),
    ...(principal === undefined ? undefined : { principal }),
    ...(sessionId === undefined ? undefined : { sessionId }),
    ...(traceParent === undefined ? undefined : { traceParent }),
    createdAt: now,
    updatedAt: now,
    steps: 0,
    usage: NO_USAGE,
    decided: [],
  };
}
