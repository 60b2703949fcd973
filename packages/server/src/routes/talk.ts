import { openTicketsOf, type RunRecord, type Ticket, threadId } from "@awaken/contract";
import type { AttachedEvent, RunRequest, RunStream, TicketDecision } from "@awaken/runtime";
import { openEvents, refuseUnkept } from "./open-events.ts";
import { tellRun } from "./retell.ts";
import { activeRun, checkId, type Tenant, theRun } from "./served.ts";
import { telling, until } from "./told-events.ts";

/** A thread that a client speaks on, as it stands. */
export interface Talk {
  readonly tenant: Tenant;
  readonly thread: string;
  /** The run that works or waits on the thread. */
  readonly open: RunRecord | undefined;
}

/** Events of a run, for one who goes on with it. */
export interface Followed {
  /** What is on record from before. */
  readonly past: readonly AttachedEvent[];
  /** What comes, up to the end of the activation. */
  readonly events: AsyncIterator<AttachedEvent>;
  readonly runId: string;
  readonly threadId: string;
  /** What a run below waits for, when the events ended without a word of it. */
  waiting(): readonly Ticket[] | undefined;
}

/** A decision, and what it is about. */
export type AboutTicket = TicketDecision & { readonly of: Ticket };

const isEnd = ({ type }: AttachedEvent): boolean => type === "run-end";
const nothing = () => undefined;

export async function openTalk(tenant: Tenant, id: string | undefined): Promise<Talk> {
  const thread = id === undefined ? crypto.randomUUID() : checkId(id);
  const record = id === undefined ? undefined : await tenant.records.threads.load(threadId(thread));
  return { tenant, thread, open: record === undefined ? undefined : await activeRun(tenant, record) };
}

/** What can be decided about a run, and about all below it. */
export async function openTickets({ tenant }: Pick<Talk, "tenant">, run: RunRecord): Promise<readonly Ticket[]> {
  const own = openTicketsOf(run);
  const known = new Set(own.map(({ id }) => id));
  return [...own, ...(await tenant.records.runs.listOpenTickets(run.runId)).filter(({ id }) => !known.has(id))];
}

/** Whoever was at work had his last words, and the run has its thread. What a run that had waited took in: the first message; undefined of a new one. */
async function begun(run: RunStream): Promise<string | undefined> {
  const events = run[Symbol.asyncIterator]();
  let message: string | undefined;
  for (let next = await events.next(); !next.done; next = await events.next()) {
    const { value: event } = next;
    if (event.type === "input-accepted") message = event.messages[0]?.id;
    if (message !== undefined || event.type === "step-start" || (event.type === "run-start" && !event.resumed)) break;
  }
  // The log tells of it, with cursors.
  void events.return?.();
  return message;
}

/** A new run, or the one that waits, with what is said instead of a decision: which of them is what it says itself. What is at work is interrupted. */
export async function submit({ tenant }: Talk, request: RunRequest): Promise<Followed> {
  const run = tenant.runtime.stream({ ...request, onBusy: "interrupt" });
  const message = await begun(run);
  if (message !== undefined) return followTurn(tenant, run, message);
  const events = telling(tenant, await openEvents(tenant.runtime, run.id, { begun: run.result, isLast: isEnd }));
  return { past: [], events, runId: run.id, threadId: run.threadId, waiting: nothing };
}

/** The run that waited, from where it took in a message. What it said before, also to others meanwhile, is past. */
async function followTurn(tenant: Tenant, run: RunStream, message: string): Promise<Followed> {
  const { past, coming } = await tellRun(tenant, await theRun(tenant, run.id));
  const all = [...past];
  const isTaken = (event: AttachedEvent) => event.type === "input-accepted" && event.messages.some(({ id }) => id === message);
  const unkept = run.result.then((result): Promise<never> => {
    refuseUnkept(result);
    return new Promise(() => {});
  });
  unkept.catch(() => {});
  try {
    while (!all.some(isTaken)) {
      const next = await Promise.race([coming.next(), unkept]);
      if (next.done) break;
      all.push(next.value);
    }
  } catch (thrown) {
    await coming.return?.();
    throw thrown;
  }
  const at = all.findIndex(isTaken);
  const from = at === -1 ? all.length : all.slice(0, at).findLastIndex(({ type }) => type === "run-start");
  const events = telling(tenant, until(coming, { past: all.slice(from), isLast: isEnd }));
  return { past: all.slice(0, from), events, runId: run.id, threadId: run.threadId, waiting: nothing };
}

/** A run that waits goes on. */
export async function takeUp({ tenant }: Talk, open: RunRecord, begin: () => RunStream): Promise<Followed> {
  const { past, coming } = await tellRun(tenant, open);
  const run = begin();
  void run[Symbol.asyncIterator]().return?.();
  const first = coming.next();
  first.catch(() => {});
  try {
    await Promise.race([first, run.result]);
  } catch (thrown) {
    await coming.return?.();
    throw thrown;
  }
  const events = until(telling(tenant, { ...coming, next: startingWith(first, coming) }), { isLast: isEnd });
  return { past, events, runId: open.runId, threadId: open.threadId, waiting: nothing };
}

function startingWith<T>(first: Promise<T>, rest: { next(): Promise<T> }): () => Promise<T> {
  let head: Promise<T> | undefined = first;
  return () => {
    const next = head ?? rest.next();
    head = undefined;
    return next;
  };
}

const lastTurn = (past: readonly AttachedEvent[]) => past.findLast((event) => event.type === "run-end" || event.type === "run-start");

/** The run came to its end. */
function isOver(past: readonly AttachedEvent[]): boolean {
  const last = lastTurn(past);
  return last?.type === "run-end" && last.result.status !== "waiting";
}

/** The run has ended, or parked: what was at work when its record was read may be at rest when its events are. */
export const isAtRest = (past: readonly AttachedEvent[]): boolean => lastTurn(past)?.type === "run-end";

/** Something will come of it without anybody's doing: it works, or will begin. */
export const isAtWork = ({ status }: RunRecord): boolean => status === "running" || status === "created";

export interface FollowedRun extends Followed {
  /** It works, or will begin: events come. */
  readonly isLive: boolean;
}

/** What a run has said and says, when nothing is asked of it. */
export async function followRun({ tenant }: Talk, run: RunRecord): Promise<FollowedRun> {
  const { past, coming } = await tellRun(tenant, run);
  const isLive = isAtWork(run) && !isAtRest(past);
  if (!isLive) await coming.return?.();
  return {
    past,
    events: isLive ? until(telling(tenant, coming), { isLast: isEnd }) : NOTHING,
    runId: run.runId,
    threadId: run.threadId,
    waiting: nothing,
    isLive,
  };
}

const NOTHING: AsyncIterator<AttachedEvent> = { next: async () => ({ done: true, value: undefined }) };

/** Each was taken before, and what came of it is told. */
const areTaken = (decisions: readonly AboutTicket[], past: readonly AttachedEvent[]): boolean =>
  decisions.every(({ ticket }) => past.some((event) => event.type === "decision-taken" && event.ticketId === ticket));

/**
 * Decides, and follows the run of the thread until it ends or waits again, in itself or below. Undefined: somebody was quicker, and it is over, or waits for
 * something else, of which nothing would come.
 */
export async function decide(talk: Talk, open: RunRecord, decisions: readonly AboutTicket[]): Promise<Followed | undefined> {
  const { past, coming } = await tellRun(talk.tenant, open);
  let results: readonly Promise<unknown>[];
  try {
    if (isOver(past) || (isAtRest(past) && areTaken(decisions, past))) {
      await coming.return?.();
      return undefined;
    }
    results = await decideAll(talk, decisions);
  } catch (thrown) {
    await coming.return?.();
    throw thrown;
  }
  let waiting: readonly Ticket[] | undefined;
  const isBelow = decisions.some(({ of }) => of.runId !== open.runId);
  const over = isBelow
    ? waitsBelow(talk, open, results).then((tickets) => {
        waiting = tickets;
        return tickets !== undefined;
      })
    : undefined;
  const events = until(telling(talk.tenant, coming), { isLast: isEnd, ...(over === undefined ? undefined : { over }) });
  return { past, events, runId: open.runId, threadId: open.threadId, waiting: () => waiting };
}

/** The decisions about each run together: all or none of them. */
async function decideAll({ tenant }: Talk, decisions: readonly AboutTicket[]): Promise<readonly Promise<unknown>[]> {
  const results: Promise<unknown>[] = [];
  for (const group of Map.groupBy(decisions, ({ of }) => of.runId).values()) {
    const run = await tenant.runtime.decideAll(group.map(({ ticket, decision }) => ({ ticket, decision })));
    void run[Symbol.asyncIterator]().return?.();
    run.result.catch(() => {});
    results.push(run.result);
  }
  return results;
}

/** What is asked below, when a run there waits again while the one that is shown did not go on. */
async function waitsBelow(talk: Talk, open: RunRecord, results: readonly Promise<unknown>[]): Promise<readonly Ticket[] | undefined> {
  await Promise.allSettled(results);
  const now = await talk.tenant.records.runs.load(open.runId).catch(() => undefined);
  if (now === undefined || now.updatedAt !== open.updatedAt || now.status !== "waiting") return undefined;
  return openTickets(talk, now);
}
