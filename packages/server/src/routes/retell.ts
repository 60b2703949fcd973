import { type Message, messageToolCalls, type RunId, type RunRecord, type ThreadId } from "@awaken/contract";
import type { RunPosition } from "@awaken/contract/store";
import type { AttachedEvent } from "@awaken/runtime";
import { type EventOf, Retelling } from "./retelling.ts";
import type { Tenant } from "./served.ts";
import { rowsBackwards } from "./thread-view.ts";
import { type ToldEvents, tellEvents } from "./told-events.ts";

/** Runs below that ask for something, at the call of this run that waits for them. */
async function childrenOf({ records }: Tenant, run: RunRecord): Promise<readonly EventOf<"child-start">[]> {
  const children = new Map<string, EventOf<"child-start">>();
  for (const ticket of await records.runs.listOpenTickets(run.runId)) {
    let below = ticket.runId === run.runId ? undefined : await records.runs.load(ticket.runId);
    while (below?.parentRunId !== undefined && below.parentRunId !== run.runId) below = await records.runs.load(below.parentRunId);
    if (below === undefined) continue;
    const { runId: id, threadId, agentId } = below;
    const { agentPath = [run.agentId, agentId], parentToolCallId } = below.activation.trace;
    const call = parentToolCallId === undefined ? undefined : { toolCallId: parentToolCallId };
    children.set(id, { type: "child-start", runId: id, threadId, agentId, agentPath, ...call });
  }
  return [...children.values()];
}

const lateId = (asker: string | undefined, toolCallId: string): string => `${asker} ${toolCallId}`;

/** The messages that these events tell of, and results that came late, by the turn that asked for them. */
const toldIn = (past: readonly AttachedEvent[]): ReadonlySet<string> =>
  new Set(
    past.flatMap((event): readonly string[] => {
      if (event.type === "input-accepted") return event.messages.map(({ id }) => id);
      if (event.type === "tool-call-resumed") return [lateId(event.messageId, event.toolCallId)];
      return event.type === "step-start" || event.type === "tool-call-end" ? [event.messageId] : [];
    }),
  );

/** The first message that the events tell of themselves; -1: none. */
function firstTold(rows: readonly Message[], past: readonly AttachedEvent[]): number {
  const told = toldIn(past);
  const askers = new Map<string, string>();
  return rows.findIndex((row) => {
    if (row.role === "assistant") for (const { id } of messageToolCalls(row)) askers.set(id, row.id);
    const isLate = row.role === "tool" && row.status !== "pending" && told.has(lateId(askers.get(row.toolCallId), row.toolCallId));
    return isLate || told.has(row.id);
  });
}

const hasRun = ({ metadata }: Message): boolean => metadata?.runId !== undefined;

/** The run whose events go on where the messages end. */
function goingOn(rows: readonly Message[], past: readonly AttachedEvent[]): RunId | undefined {
  const [first] = past;
  if (first?.type === "run-start") return first.resumed ? first.runId : undefined;
  return rows.find(hasRun)?.metadata?.runId;
}

/** So many at a time: a thread may have thousands of runs. */
const RUNS_AT_ONCE = 16;

async function loadRuns({ records }: Tenant, ids: readonly RunId[]): Promise<readonly RunRecord[]> {
  const runs: RunRecord[] = [];
  for (let at = 0; at < ids.length; at += RUNS_AT_ONCE) {
    const group = await Promise.all(ids.slice(at, at + RUNS_AT_ONCE).map((id) => records.runs.load(id)));
    runs.push(...group.flatMap((run) => run ?? []));
  }
  return runs;
}

/** Runs that failed before their first turn was written, as far as messages of people stand without an answer. */
async function silentRuns({ records }: Tenant, rows: readonly Message[], thread: ThreadId): Promise<readonly RunRecord[]> {
  const shown = rows.filter(({ visibility }) => visibility !== "internal");
  const isAlone = shown.some(({ role }, index) => role === "user" && shown[index + 1]?.role !== "assistant");
  if (!isAlone) return [];
  const silent: RunRecord[] = [];
  let after: RunPosition | undefined;
  do {
    const { items, next } = await records.runs.list({
      threadId: thread,
      statuses: ["done"],
      ...(after === undefined ? undefined : { after }),
    });
    silent.push(...items.filter(({ output, steps }) => output === undefined && steps > 0));
    after = next;
  } while (after !== undefined);
  return silent;
}

/**
 * What messages tell where the events of their runs are gone: retention takes the log, and leaves messages and records. `rows` are from the
 * oldest on; those that the events tell of themselves, and all behind them, are left to them.
 */
export async function retell(
  tenant: Tenant,
  rows: readonly Message[],
  told: readonly AttachedEvent[],
  /** Whose rows these are, when they are all of it. */
  thread?: ThreadId,
): Promise<readonly AttachedEvent[]> {
  // A rewind stands before the run that it makes room for, and is of none.
  const past = told.filter(({ type }) => type !== "thread-rewound");
  const end = firstTold(rows, past);
  const gone = end === -1 ? rows : rows.slice(0, end);
  if (gone.length === 0) return [];
  const next = end === -1 ? undefined : goingOn(rows.slice(end), past);
  const ids = new Set([...gone.flatMap(({ metadata }) => metadata?.runId ?? []), ...(next === undefined ? [] : [next])]);
  const runs = await loadRuns(tenant, [...ids]);
  const silent = thread === undefined ? [] : await silentRuns(tenant, gone, thread);
  const waiting = runs.filter(({ status }) => status === "waiting");
  const children = await Promise.all(waiting.map(async (run) => [run.runId, await childrenOf(tenant, run)] as const));
  const retelling = new Retelling(new Map(runs.map((run) => [run.runId, run])), new Map(children), silent);
  for (const row of gone) retelling.add(row);
  const goesOn = runs.find((run) => run.runId === next);
  if (goesOn === undefined) retelling.end();
  else retelling.endIn(goesOn, past[0]?.type === "run-start");
  return retelling.events;
}

/** Its first event is there. */
const isWhole = ([first]: readonly AttachedEvent[], { steps }: RunRecord): boolean =>
  first === undefined ? steps === 0 : first.type === "run-start" && !first.resumed;

/** A run from its beginning on, also when its first events are gone. */
export async function tellRun(tenant: Tenant, run: RunRecord): Promise<ToldEvents> {
  const told = await tellEvents(tenant.runtime, run.runId);
  if (isWhole(told.past, run)) return told;
  try {
    const rows: Message[] = [];
    for await (const { message } of rowsBackwards(tenant, run.threadId)) rows.push(message);
    const past = await retell(tenant, rowsOf(run, rows.reverse()), told.past);
    return { ...told, past: [...past, ...told.past] };
  } catch (thrown) {
    await told.coming.return?.();
    throw thrown;
  }
}

/** Those that the run wrote, and what people said before and between them. */
function rowsOf(run: RunRecord, rows: readonly Message[]): readonly Message[] {
  const isOwn = ({ metadata }: Message) => metadata?.runId === run.runId;
  const first = rows.findIndex(isOwn);
  const before = rows.slice(0, Math.max(first, 0)).findLastIndex(hasRun);
  return rows.slice(before + 1).filter((row) => isOwn(row) || !hasRun(row));
}
