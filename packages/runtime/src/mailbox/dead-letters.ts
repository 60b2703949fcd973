import {
  AwakenError,
  type CreatedRun,
  checkOptions,
  type DispatchId,
  dispatchId,
  type PartRules,
  partRule,
  type RunId,
  type RunRecord,
  runId,
  runIdentity,
} from "@awaken/contract";
import type { DeadLetterDispatch, DispatchPosition, DispatchRecord, Page, QueuePorts, StorePorts } from "@awaken/contract/store";
import { createdRecord } from "../commit/created-record.ts";
import { isUnreadable } from "./attempts.ts";
import type { Started } from "./submit.ts";
import type { Tenant } from "./tenant.ts";

/** Work out of the queue that nobody could bring to an end. */
export interface DeadLetter {
  /** For `replay` and `drop`. */
  readonly id: DispatchId;
  /** The run that it was for: its record is done, with the error `dead_letter`. */
  readonly runId: RunId;
  /** The thread of that run. */
  readonly threadId: Started["threadId"];
  /** Why the last try failed, in words. */
  readonly error: string;
  /** Tries that failed. */
  readonly attempts: number;
  /** When the work was put into the queue. */
  readonly createdAt: number;
  /** When it was given up. */
  readonly diedAt: number;
}

/** Which dead letters to list. */
export interface DeadLetterQuery {
  /** `next` of the page before. */
  readonly after?: DispatchPosition;
  /** 1 to 200. Default 50. */
  readonly limit?: number;
}

/** Dead letters of a tenant. They are kept as long as other dispatches that are over: see `retention`. */
export interface DeadLetterVerbs {
  /** The oldest first, in pages; `next` is there when there is more. */
  list(query?: DeadLetterQuery): Promise<Page<DeadLetter, DispatchPosition>>;
  /**
   * Puts the work into the queue again, with all of its tries: a new run answers the same messages, with the same agent and options, since
   * the one that is done stays so. Once: `storage_not_found` for an id that is unknown or was replayed already, `thread_already_running` while
   * a run of the thread waits for decisions, which this would withdraw.
   */
  replay(id: string): Promise<Started>;
  /** Gives it up for good, and what nobody but its run would have read. `storage_not_found` for an id that is unknown. */
  drop(id: string): Promise<DeadLetter>;
}

const isPosition = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  typeof Reflect.get(value, "createdAt") === "number" &&
  typeof Reflect.get(value, "dispatchId") === "string";

const QUERY: PartRules<DeadLetterQuery> = {
  after: partRule("`next` of the page before", isPosition),
  limit: partRule("a whole number from 1 to 200", (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 200),
};

type Ports = StorePorts & QueuePorts;

const toDeadLetter = (row: DeadLetterDispatch): DeadLetter => ({
  id: row.dispatchId,
  runId: row.runId,
  threadId: row.threadId,
  error: row.lastError ?? "the run could not be brought to an end",
  attempts: row.attemptCount,
  createdAt: row.createdAt,
  diedAt: row.completedAt,
});

const onlyDead = (row: DispatchRecord): readonly DeadLetter[] => (row.status === "dead-letter" ? [toDeadLetter(row)] : []);

async function take({ dispatches }: Ports, id: string): Promise<DeadLetterDispatch> {
  const dead = await dispatches.removeDeadLetter(dispatchId(id));
  if (dead !== undefined) return dead;
  throw new AwakenError("storage_not_found", `no dead letter has the id '${id}'`, { details: { dispatchId: id } });
}

/** The run again, from its beginning. */
function againOf(run: RunRecord, id: RunId, dispatch: DispatchId, now: number): CreatedRun {
  const { principal, activation, input } = run;
  const { triggerMessageIds, selectedMessageIds } = input;
  return createdRecord({
    identity: { ...runIdentity(run), runId: id },
    principal,
    activation: { ...activation, intent: { type: "continuation-from-run", runId: run.runId } },
    input: { triggerMessageIds, selectedMessageIds },
    dispatchId: dispatch,
    now,
  });
}

/** What waits for this run and nobody else. */
async function waitingFor({ pending }: Ports, { threadId, runId: id }: DeadLetterDispatch) {
  const { entries } = await pending.load(threadId);
  return entries.filter(({ deliveryMode }) => deliveryMode.targetRunId === id);
}

async function checkFree(ports: Ports, { threadId }: DeadLetterDispatch): Promise<void> {
  const open = (await ports.threads.load(threadId))?.openRunId;
  const run = open === undefined ? undefined : await ports.runs.load(open);
  if (run?.status !== "waiting") return;
  throw new AwakenError("thread_already_running", `run '${run.runId}' of thread '${threadId}' waits: decide its tickets, or cancel it`, {
    details: { threadId, runId: run.runId },
  });
}

async function replayIn(ports: Ports, { ids, clock }: Tenant, given: string): Promise<Started> {
  const dead = await take(ports, given);
  const { threadId, dispatchId: dispatch, maxAttempts, priority, dedupeKey } = dead;
  const run = await ports.runs.load(dead.runId);
  const enqueued = { dispatchId: dispatch, threadId, maxAttempts, priority, ...(dedupeKey === undefined ? undefined : { dedupeKey }) };
  // Nobody has ended it yet: then it is the run itself that goes on.
  if (run !== undefined && run.status !== "done") {
    await ports.dispatches.enqueue({ ...enqueued, runId: run.runId });
    return { runId: run.runId, threadId };
  }
  await checkFree(ports, dead);
  const id = runId(ids());
  for (const { pendingId, revision } of await waitingFor(ports, dead)) {
    await ports.pending.update(threadId, pendingId, { revision, deliveryMode: { boundary: "new-run", targetRunId: id } });
  }
  const created = run === undefined ? undefined : { run: againOf(run, id, dispatch, clock.now()), isNewRun: true as const };
  await ports.commit({ threadId, runId: id, ...created, dispatch: { type: "enqueue", dispatch: { ...enqueued, runId: id } } });
  return { runId: id, threadId };
}

async function dropIn(ports: Ports, given: string): Promise<DeadLetter> {
  const dead = await take(ports, given);
  const isOver = await ports.runs.load(dead.runId).then(
    (run) => run?.status === "done",
    (thrown: unknown) => {
      if (isUnreadable(thrown)) return true;
      throw thrown;
    },
  );
  if (isOver) {
    for (const { pendingId, revision, deliveryMode } of await waitingFor(ports, dead)) {
      if (!deliveryMode.fallbackToNewRun) await ports.pending.retract(dead.threadId, pendingId, revision);
    }
  }
  return toDeadLetter(dead);
}

const MAX_TRIES = 5;

/** Somebody else wrote the same at the same time: then it is looked at again. */
async function atomically<T>({ queue, ask }: Tenant, what: string, work: (ports: Ports) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await ask(what, queue.transaction(work));
    } catch (thrown) {
      if (!AwakenError.is(thrown) || thrown.code !== "version_conflict" || tries === MAX_TRIES) throw thrown;
    }
  }
}

export function deadLetterVerbs(tenant: Tenant): DeadLetterVerbs {
  return {
    list: async (query = {}) => {
      checkOptions("invalid_activation", "deadLetters.list", query, QUERY);
      const { after, limit } = query;
      const { queue, ask } = tenant;
      const page = await ask(
        "list dead letters",
        queue.dispatches.listAll({
          statuses: ["dead-letter"],
          ...(after === undefined ? undefined : { after }),
          ...(limit === undefined ? undefined : { limit }),
        }),
      );
      return { ...page, items: page.items.flatMap(onlyDead) };
    },
    replay: (id) => atomically(tenant, "replay a dead letter", (ports) => replayIn(ports, tenant, id)),
    drop: (id) => atomically(tenant, "drop a dead letter", (ports) => dropIn(ports, id)),
  };
}
