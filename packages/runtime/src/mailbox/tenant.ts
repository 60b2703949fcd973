import { AwakenError, errorMessage, type Log, type ScopeId, type ThreadId } from "@awaken/contract";
import type { ClaimedDispatch, DeadLetterDispatch, DispatchQueue } from "@awaken/contract/store";
import type { ActiveRun } from "../run/active-runs.ts";
import type { RunParts } from "../run/run-parts.ts";
import { raceAbort } from "../stream/abort.ts";
import type { Work } from "../stream/bounds.ts";
import type { Clock } from "../stream/clock.ts";
import type { Ids } from "../stream/ids.ts";
import { sleep } from "../stream/sleep.ts";
import { judgeFailure } from "./attempts.ts";
import { endDeadRecord } from "./end-record.ts";
import type { Executor } from "./executor.ts";
import type { NodeIdentity } from "./node.ts";

/** What the verbs of one tenant need. */
export interface Tenant extends Executor {
  readonly all: DispatchQueue;
  /** The same of another tenant. */
  of(scopeId: ScopeId): Tenant;
  readonly parts: RunParts;
  readonly node: NodeIdentity;
  readonly clock: Clock;
  readonly log: Log;
  readonly ids: Ids;
  readonly maxAttempts: number;
  /** Does what is asked of a thread when what was asked of it before is done; not at all when nobody waits for it any more by then. */
  inTurn<T>(threadId: ThreadId, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

const TURN: Work = {
  limit: "storeMs",
  onAbort: "leave",
  code: "storage_io",
  name: () => "the store, which others asked of the thread before,",
};

/** Those before wait for the store: they have as long for it as if it were asked. */
export async function untilTurn({ bounds, closing }: RunParts, turn: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  const there = bounds.wait(turn, TURN).catch((thrown: unknown) => {
    throw closing.aborted ? new AwakenError("cancelled", "the runtime is closed") : thrown;
  });
  if (signal === undefined) await there;
  else if ((await raceAbort(there, signal)).type === "aborted") throw new AwakenError("cancelled", "nobody waits for the thread any more");
}

/** Somebody else is at work on the thread. Messages reach tenants: which process has it is for operators, and stands in the details alone. */
export const isTaken = (threadId: ThreadId, by: string): AwakenError =>
  new AwakenError("thread_already_running", `thread already has an active run: ${threadId}`, { details: { threadId, consumer: by } });

/** How long the last transaction of a process that is gone may still be under way at the database: its row is passed over until then. */
const LAST_WORDS_MS = [10, 20, 40, 80, 160, 320, 640, 1_280];

async function holderOf({ queue, ask }: Tenant, threadId: ThreadId): Promise<ClaimedDispatch | undefined> {
  const [row] = await ask("list dispatches", queue.dispatches.list(threadId, { statuses: ["claimed"], limit: 1 }));
  return row?.status === "claimed" ? row : undefined;
}

/** A run of this process that is on the thread, and has nothing on record yet: it would find the thread taken by what came later. */
export function beginningOn({ parts }: Tenant, threadId: ThreadId): Promise<ActiveRun | undefined> | undefined {
  const run = parts.active.onThread(threadId);
  if (run === undefined) return undefined;
  // What is on record already comes first of the two.
  const late = Promise.resolve().then(() => {});
  return Promise.race([run.recorded.then(() => undefined), late.then(() => run)]);
}

/** Puts back what this process has claimed on the thread, unless a run of it is there, which may be the one that did: then false. */
export async function giveBackUnknown(tenant: Tenant, threadId: ThreadId): Promise<boolean> {
  const { queue, node, parts, ask } = tenant;
  const held = await holderOf(tenant, threadId);
  // After the look: whoever has begun since finds the thread taken, and what he claimed before was seen.
  if (parts.active.onThread(threadId) !== undefined) return false;
  if (held?.claimedBy !== node.name) return true;
  await ask("give a dispatch back", queue.dispatches.release(held)).catch((thrown: unknown) => {
    // It has ended since.
    if (judgeFailure(thrown).type !== "lost") throw thrown;
  });
  return true;
}

/** Resolves when nobody holds the thread: a holder who is gone, or whose lease is over, loses it. */
export async function makeRoom(tenant: Tenant, threadId: ThreadId): Promise<void> {
  const { node, clock } = tenant;
  const holder = () => holderOf(tenant, threadId);
  let held = await holder();
  for (const waitMs of LAST_WORDS_MS) {
    if (held === undefined) return;
    const isGone = held.claimedBy !== node.name && node.isGone(held.claimedBy);
    await takeBack(tenant, isGone ? [held.claimedBy] : []);
    held = await holder();
    if (held === undefined) return;
    if (held.claimedBy === node.name || !node.isGone(held.claimedBy)) break;
    await sleep(clock, waitMs);
  }
  if (held !== undefined) throw isTaken(threadId, held.claimedBy);
}

/** Leases that are over, of whatever tenant, and those of who is gone. What was tried for the last time ends its run. */
export async function takeBack({ all, ask, of }: Tenant, gone: readonly string[]): Promise<void> {
  for (const { scopeId, dispatch } of await ask("reclaim leases", all.reclaimExpired(undefined, gone))) {
    if (dispatch.status === "dead-letter") await endDead(of(scopeId), dispatch);
  }
}

/** A dead letter is the end of its run, whoever found it. Never rejects: whoever looks next tries again. */
export async function endDead(tenant: Tenant, dispatch: DeadLetterDispatch): Promise<void> {
  const { queue, ask, clock, log, watchers } = tenant;
  try {
    const run = await ask("load a run", queue.runs.load(dispatch.runId));
    if (run === undefined || run.status === "done") return;
    const message = dispatch.lastError ?? "the run could not be brought to an end";
    const { commit, stopBelow } = await endDeadRecord(tenant, run, message, clock.now());
    await ask("end a run", queue.commit(commit));
    watchers.ended(commit.run);
    await stopBelow();
  } catch (thrown) {
    log.warn(`run ${dispatch.runId} is a dead letter and could not be ended: ${errorMessage(thrown)}`, { runId: dispatch.runId });
  }
}
