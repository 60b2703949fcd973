import { messageToolCalls, type RunRecord, type ThreadId, threadId } from "@awaken/contract";
import { effectiveMessages, type MessageRecord, type QueueStore } from "@awaken/contract/store";
import type { Execution, World } from "./crew.ts";
import type { Fleet } from "./fleet.ts";
import type { Entry } from "./journal.ts";
import type { Lane } from "./scheduler.ts";

/** What a run may end with, and a dispatch be given up for: models, tools and hooks that fail, and an agent that is away. */
const CAUSES = /scripted|unauthorized|moody|connection reset|the tool failed|was removed|rewound|guest/;

const PATIENCE_MS = 60_000;

/** Refusals that promise that nothing was done. */
const NOT_DONE: ReadonlySet<string> = new Set(["thread_already_running", "storage_already_exists", "pending_selection_conflict"]);

async function allRuns(store: QueueStore): Promise<readonly RunRecord[]> {
  const runs: RunRecord[] = [];
  for (let query: Parameters<QueueStore["runs"]["list"]>[0] = { limit: 200 }; ; ) {
    const { items, next } = await store.runs.list(query);
    runs.push(...items);
    if (next === undefined) return runs;
    query = { limit: 200, after: next };
  }
}

async function allRows(store: QueueStore, thread: ThreadId): Promise<readonly MessageRecord[]> {
  const rows: MessageRecord[] = [];
  for (let afterSeq = 0; ; ) {
    const { items, next } = await store.messages.list(thread, { visibility: "all", limit: 200, afterSeq });
    rows.push(...items);
    if (next === undefined) return rows;
    afterSeq = next;
  }
}

/** All that is wrong with what is on record when everything is over. */
export async function judge(
  store: QueueStore,
  world: World,
  journal: readonly Entry[],
  fleet: Fleet,
  lane: Lane,
): Promise<readonly string[]> {
  const runs = await allRuns(store);
  const faults = [
    ...judgeRuns(runs),
    ...judgeDecisions(runs, journal),
    ...judgeEffects(world.executions, journal),
    ...(await judgeFinished(store, runs, world.executions)),
    ...(await judgeLetters(store)),
  ];
  for (const thread of new Set(runs.map((run) => run.threadId))) {
    const rows = await allRows(store, thread);
    const own = runs.filter((run) => run.threadId === thread);
    const said = journal.filter((entry) => entry.thread === thread && entry.message !== undefined);
    const found = [
      ...judgeLog(rows),
      ...(await judgeThread(store, thread, rows, own)),
      ...(await judgeSaid(store, thread, rows, own, said)),
    ];
    faults.push(...found.map((fault) => `${thread}: ${fault}`));
  }
  for (const run of runs) faults.push(...(await judgeEvents(run, fleet, lane)));
  return faults;
}

const judgeRuns = (runs: readonly RunRecord[]): readonly string[] =>
  runs.flatMap((run) => {
    if (run.status !== "done") return [`run ${run.runId} is ${run.status}`];
    const { termination } = run.outcome;
    // Before it is on record nobody else can go on with it.
    const isStillborn = run.steps === 0 && termination.type === "error" && termination.code === "storage_io";
    const isOdd = termination.type === "error" && !isStillborn && !CAUSES.test(termination.message);
    return isOdd ? [`run ${run.runId} on ${run.threadId} ended as ${JSON.stringify(termination)}`] : [];
  });

/** An accepted decision is on record once, unless its ticket was closed, or somebody else decided it. */
function judgeDecisions(runs: readonly RunRecord[], journal: readonly Entry[]): readonly string[] {
  return journal.flatMap((entry) => {
    const run = runs.find(({ runId }) => runId === entry.run);
    if (entry.op !== "decide" || entry.outcome !== "ok" || run === undefined) return [];
    const taken = run.decided.filter(({ decisionId }) => decisionId === entry.decision).length;
    const isOver = [...run.decided, ...(run.closed ?? [])].some(({ ticketId }) => ticketId === entry.ticket);
    if (taken > 1) return [`decided ${taken} times: ${JSON.stringify(entry)}`];
    return taken === 1 || isOver ? [] : [`decision lost: ${JSON.stringify(entry)}`];
  });
}

/** What has an effect happens once; what nobody could find out about again when somebody said so. */
function judgeEffects(executions: readonly Execution[], journal: readonly Entry[]): readonly string[] {
  const byKey = Map.groupBy(
    executions.filter(({ tool }) => tool === "fire" || tool === "find" || tool === "sign"),
    ({ key }) => key,
  );
  return [...byKey].flatMap(([key, list]) => {
    const [{ tool, order } = { tool: "", order: "" }] = list;
    const said = journal.filter(({ op, call, outcome }) => op === "decide" && call === order && outcome !== "ticket_not_open").length;
    const allowed = tool === "find" ? 1 : Math.max(1, said + (tool === "sign" ? 0 : 1));
    return list.length > allowed ? [`effect ${key} happened ${list.length} times, ${allowed} allowed: ${JSON.stringify(list)}`] : [];
  });
}

/** What is finished does not run again. */
async function judgeFinished(store: QueueStore, runs: readonly RunRecord[], executions: readonly Execution[]): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const { runId } of runs)
    for (const entry of await store.ledger.list(runId)) {
      if (entry.status !== "finished") continue;
      const late = executions.find(({ key, at }) => key === entry.idempotencyKey && at > entry.settledAt);
      if (late !== undefined) faults.push(`ran again after it was finished at ${entry.settledAt}: ${JSON.stringify(late)}`);
    }
  return faults;
}

async function judgeLetters(store: QueueStore): Promise<readonly string[]> {
  const { items } = await store.dispatches.listAll({ statuses: ["dead-letter"], limit: 200 });
  return items.flatMap((letter) =>
    letter.status === "dead-letter" && !CAUSES.test(letter.lastError ?? "") ? [`dead letter: ${JSON.stringify(letter)}`] : [],
  );
}

/** No row is missing or there twice, and each call has its result. */
function judgeLog(rows: readonly MessageRecord[]): readonly string[] {
  const faults: string[] = [];
  if (rows.some(({ seq }, index) => seq !== index + 1)) faults.push("rows of the log are missing");
  const ids = rows.map(({ message }) => message.id);
  if (new Set(ids).size !== ids.length) faults.push("a message is in the log twice");
  let open: string[] = [];
  for (const { message } of effectiveMessages(rows)) {
    if (message.role === "tool") {
      if (message.toolCallId !== open.shift()) faults.push(`the result ${message.id} stands in a wrong place`);
    } else {
      if (open.length > 0) faults.push(`calls without a result: ${open.join(", ")}`);
      open = messageToolCalls(message).map(({ id }) => id);
    }
  }
  if (open.length > 0) faults.push(`calls without a result at the end: ${open.join(", ")}`);
  return faults;
}

/** The record of the thread says what its runs and messages say. */
async function judgeThread(
  store: QueueStore,
  thread: ThreadId,
  rows: readonly MessageRecord[],
  runs: readonly RunRecord[],
): Promise<readonly string[]> {
  const faults: string[] = [];
  const head = await store.threads.loadHead(thread);
  if (head === undefined) return runs.length === 0 ? [] : ["runs are there, and no thread"];
  if (head.thread.openRunId !== undefined) faults.push(`run ${head.thread.openRunId} is open`);
  const news = Map.groupBy(
    rows.flatMap(({ message }) => {
      const task = message.role === "user" ? message.metadata?.task : undefined;
      return task === undefined || task.kind === "custom" ? [] : [{ ...task, isOfRun: message.id.startsWith("task-end:") }];
    }),
    // A dead letter that is replayed may come to another end.
    ({ taskId, kind }) => `${taskId} ${kind}`,
  );
  for (const [which, list] of news) {
    // Two runs have two ends: one that was never on record with its caller may have the id of the next.
    if (list.length > 1 && !list.every(({ isOfRun }) => isOfRun)) faults.push(`news of task ${which} came ${list.length} times`);
  }
  if (!/^(line|desk|wild)-/.test(thread)) return faults;
  const state = JSON.stringify((await store.threads.loadState(thread)) ?? {});
  if (state.includes('"status":"running"')) faults.push(`a task still runs: ${state}`);
  return faults;
}

/** What was accepted is there, once, in the order in which it was accepted. */
async function judgeSaid(
  store: QueueStore,
  thread: ThreadId,
  rows: readonly MessageRecord[],
  runs: readonly RunRecord[],
  said: readonly Entry[],
): Promise<readonly string[]> {
  if (thread.startsWith("gone")) return [];
  const faults: string[] = [];
  const seqs = new Map(rows.map(({ message, seq }) => [String(message.id), seq]));
  const { entries } = await store.pending.load(threadId(thread));
  const pending = new Set(entries.map(({ pendingId }) => String(pendingId)));
  for (const entry of said) {
    const id = entry.message ?? "";
    if (seqs.has(id) && pending.has(id)) faults.push(`message ${id} is read and waits`);
    if (seqs.has(id) && NOT_DONE.has(entry.outcome)) faults.push(`refused, and there: ${JSON.stringify(entry)}`);
    const mayWait = entry.op === "send-run" && pending.has(id);
    // A run that could not be put on record, and was not: its caller was told so.
    const isStillborn = entry.detail === "failed" && !runs.some(({ runId }) => runId === entry.runId);
    const isLost = entry.outcome === "ok" && entry.detail !== "cancelled" && !isStillborn && !seqs.has(id) && !mayWait;
    if (isLost && !thread.startsWith("wild")) faults.push(`message lost${pending.has(id) ? ", it waits" : ""}: ${JSON.stringify(entry)}`);
  }
  const isDecided = runs.some((run) => run.decided.length > 0 || (run.closed?.length ?? 0) > 0);
  if (!thread.startsWith("line") || isDecided) return faults;
  const starts = said.filter(({ op, outcome }) => op === "start" && outcome === "ok");
  for (const first of starts)
    for (const second of starts) {
      if ((first.end ?? 0) >= second.at) continue;
      if ((seqs.get(first.message ?? "") ?? 0) > (seqs.get(second.message ?? "") ?? 0))
        faults.push(`${JSON.stringify(first)} stands behind ${JSON.stringify(second)}`);
    }
  return faults;
}

/** What is told of a run that is over keeps the rules of events. */
async function judgeEvents(run: RunRecord, fleet: Fleet, lane: Lane): Promise<readonly string[]> {
  const [node] = fleet.nodes;
  // The id of a run that another one asked for is that of its thread.
  if (node === undefined || run.status !== "done" || String(run.runId) === String(run.threadId)) return [];
  try {
    const events = await Promise.race([Array.fromAsync(node.runtime.attach(run.runId)), lane.sleep(PATIENCE_MS)]);
    if (events === undefined) return [`events of run ${run.runId} on ${run.threadId} do not end`];
    return events.at(0)?.type === "run-start" || events.some(({ type }) => type === "run-end")
      ? []
      : [`run ${run.runId} on ${run.threadId} has no end in its log`];
  } catch (thrown) {
    return [`events of run ${run.runId} on ${run.threadId}: ${thrown instanceof Error ? thrown.message : thrown}`];
  }
}
