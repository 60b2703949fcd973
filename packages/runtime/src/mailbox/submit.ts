import {
  AwakenError,
  type CreatedRun,
  checkOptions,
  type DispatchId,
  dispatchId,
  type JsonObject,
  type Message,
  type PartRules,
  partRule,
  RULES,
  type RunId,
  type RunRecord,
  reading,
  runId,
  type ThreadId,
  toJsonSchema,
} from "@awaken/contract";
import { type NewPending, resumeKey, type ThreadCommit } from "@awaken/contract/store";
import { createdRecord } from "../commit/created-record.ts";
import { type RunOrder, traceOf } from "../loop/run-order.ts";
import { defaultAgent } from "../run/default-agent.ts";
import { type OnBusy, type RunRequest, readRequest } from "../run/run-request.ts";
import { refuseBarrier } from "./barrier.ts";
import { inOne } from "./in-one.ts";
import { Interruption } from "./interrupt.ts";
import { isTaken, type Tenant } from "./tenant.ts";

/** What may be said about a run that is started for later, beside the request itself. */
export interface StartOptions {
  /** 0 first, 255 last, among what waits on one thread. Default 128. */
  readonly priority?: number;
  /** While a run of the thread that was started with this key is not over, another one is refused with `storage_already_exists`. */
  readonly dedupeKey?: string;
}

/** A request, and when it is its turn. */
export interface StartRequest extends Omit<RunRequest, "signal" | "resume" | "decisions" | "onBusy">, StartOptions {
  /**
   * Where a run is at work on the thread, or queued. `queue`: behind them. `refuse`: with `thread_already_running`. `interrupt`: what is
   * at work is ended and what is queued cancelled first, as by `run`. Default `queue`.
   */
  readonly onBusy?: OnBusy;
}

/** Where a started run will be. */
export interface Started {
  /** For `wait`, `attach` and `cancel`. A thread that waits goes on with the run that it waits with. */
  readonly runId: RunId;
  /** Also when it was made for it. */
  readonly threadId: ThreadId;
}

const START: PartRules<StartOptions> = {
  priority: partRule("a whole number from 0 to 255", (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 255),
  dedupeKey: RULES.name,
};

const forRun = (messages: readonly Message[], target: RunId, boundary: "new-run" | "resume-input"): readonly NewPending[] =>
  messages.map((message) => ({ message, deliveryMode: { boundary, targetRunId: target, fallbackToNewRun: false } }));

/** Durable when it returns: the run, its messages and its place in the queue are one commit. Workers of any process execute it. */
export async function start(tenant: Tenant, request: StartRequest): Promise<Started> {
  const { ids, clock } = tenant;
  const { options, asked } = reading("invalid_activation", "invalid activation: the request", () => {
    const { priority, dedupeKey, ...rest } = request;
    return { options: { priority, dedupeKey }, asked: rest };
  });
  checkOptions("invalid_activation", "start", options, START);
  const order = readRequest(asked, ids, clock);
  const output = asked.output === undefined ? undefined : toJsonSchema(asked.output);
  const terms: StartTerms = { ...options, output, onBusy: asked.onBusy ?? "queue" };
  if (order.isNewThread === true || terms.onBusy !== "queue") return startOrder(tenant, order, terms);
  return tenant.inTurn(order.threadId, () => startOrder(tenant, order, terms));
}

export interface StartTerms {
  readonly priority?: number | undefined;
  readonly dedupeKey?: string | undefined;
  /** JSON Schema of the answer. */
  readonly output?: JsonObject | undefined;
  /** Default: that of the run. */
  readonly dispatchId?: DispatchId | undefined;
  readonly onBusy: OnBusy;
}

/** The same for a request that was read. */
export async function startOrder(tenant: Tenant, order: RunOrder, terms: StartTerms): Promise<Started> {
  const { queue, ask } = tenant;
  const { threadId } = order;
  switch (terms.onBusy) {
    case "queue": {
      const commit = await planStart(tenant, order, terms);
      await ask("start a run", queue.commit(commit)).catch((thrown: unknown) => {
        // Whoever takes up the run that waits at this moment may have read what waits already: the messages have a dispatch of their own.
        if (commit.run !== undefined || !isDuplicate(thrown)) throw thrown;
        return ask("resume a run", queue.commit(withoutKey(commit)));
      });
      return { runId: commit.runId, threadId };
    }
    case "refuse": {
      const here = tenant.parts.active.onThread(threadId);
      if (here !== undefined) throw isTaken(threadId, tenant.node.name);
      const commit = await planStart(tenant, order, terms);
      await inOne(tenant, "start a run", async (ports) => {
        const [open] = await ports.dispatches.list(threadId, { statuses: ["queued", "claimed"], limit: 1 });
        if (open !== undefined) throw isTaken(threadId, open.status === "claimed" ? open.claimedBy : "none yet");
        await ports.commit(commit);
      });
      return { runId: commit.runId, threadId };
    }
    case "interrupt":
      await refuseBarrier(tenant, threadId);
      return Interruption.through(
        tenant,
        threadId,
        async (interruption) => {
          const commit = await planStart(tenant, order, terms);
          await inOne(tenant, "start a run", async (ports) => {
            await interruption.apply(ports, "stay", commit.run?.updatedAt);
            await ports.commit(commit);
          });
          return { runId: commit.runId, threadId };
        },
        { intent: order.intent },
      );
  }
}

const isDuplicate = (thrown: unknown): boolean => AwakenError.is(thrown) && thrown.code === "storage_already_exists";

function withoutKey(commit: ThreadCommit): ThreadCommit {
  if (commit.dispatch?.type !== "enqueue") return commit;
  const { dedupeKey: _, ...dispatch } = commit.dispatch.dispatch;
  return { ...commit, dispatch: { type: "enqueue", dispatch } };
}

/** A new run, or the one that waits on the thread and goes on with what is said now. */
async function planStart(tenant: Tenant, order: RunOrder, terms: StartTerms): Promise<ThreadCommit> {
  const { ids, clock, queue, ask, maxAttempts } = tenant;
  const { threadId, intent, isNewThread } = order;
  const thread = isNewThread === true ? undefined : await ask("load a thread", queue.threads.loadHead(threadId));
  const open = thread?.openRun;
  if (open?.status === "waiting" && intent.runId === undefined) return goOn(tenant, order, open);
  const id = intent.runId ?? order.newRunId ?? runId(ids());
  const agentId = order.agentId ?? thread?.latestRun?.agentId ?? defaultAgent(tenant.parts.resolver.open());
  // Of what was queued within a millisecond the first is the one whose id sorts first: those that callers choose do not.
  const { priority, dedupeKey, output, dispatchId: dispatch = dispatchId(intent.runId === undefined ? id : ids()) } = terms;
  const own = { ...(priority === undefined ? undefined : { priority }), ...(dedupeKey === undefined ? undefined : { dedupeKey }) };
  return {
    threadId,
    runId: id,
    run: createdRun(order, { runId: id, agentId, output, dispatchId: dispatch, now: clock.now() }),
    isNewRun: true,
    ...(isNewThread === undefined ? undefined : { isNewThread }),
    pending: { append: forRun(order.input, id, "new-run") },
    dispatch: { type: "enqueue", dispatch: { dispatchId: dispatch, threadId, runId: id, maxAttempts, ...own } },
  };
}

/** The messages have a dispatch that is queued together with them. */
function goOn({ ids, maxAttempts }: Tenant, { threadId, input }: RunOrder, { runId: id }: RunRecord): ThreadCommit {
  const dispatch = { dispatchId: dispatchId(ids()), threadId, runId: id, maxAttempts, dedupeKey: resumeKey(id) };
  return { threadId, runId: id, pending: { append: forRun(input, id, "resume-input") }, dispatch: { type: "enqueue", dispatch } };
}

interface NewRun {
  readonly runId: RunId;
  readonly agentId: string;
  /** JSON Schema of the answer. */
  readonly output: JsonObject | undefined;
  readonly dispatchId: DispatchId;
  readonly now: number;
}

function createdRun({ threadId, trace, principal, options }: RunOrder, init: NewRun): CreatedRun {
  const { runId: id, agentId, output, dispatchId: dispatch, now } = init;
  const identity = { threadId, runId: id, agentId, origin: "user", adapter: "internal", runMode: "scheduled", ...trace } as const;
  return createdRecord({
    identity,
    principal,
    activation: {
      intent: { type: "new-intent" },
      options: { frontendTools: [], ...options, ...(output === undefined ? undefined : { output }) },
      trace: traceOf(identity),
    },
    input: { triggerMessageIds: [], selectedMessageIds: [] },
    dispatchId: dispatch,
    now,
  });
}
