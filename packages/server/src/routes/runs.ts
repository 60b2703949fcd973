import { isJson, type JsonObject, openTicketsOf, type RunRecord, runId, type Schema, threadId } from "@awaken/contract";
import type { AnswerOf, BodyOf, QueryOf, Routes } from "@awaken/contract/http";
import { checkJson } from "@awaken/contract/json-schema";
import { clampLimit, type RunFilter, type RunPosition } from "@awaken/contract/store";
import { type AttachedEvent, type RunRequest, type RunResult, type RunStream, type Started, ticketsBelow } from "@awaken/runtime";
import { pairOf, readCursor, writeCursor } from "../http/cursors.ts";
import { type Repeatable, readRepeatable, submitOnce } from "./idempotency.ts";
import { openEvents } from "./open-events.ts";
import { activeRun, type EventReply, type Handlers, idOf, noRun, type Tenant, theRun, theThread } from "./served.ts";
import { type RunView, viewRun } from "./views.ts";

type RunBody = BodyOf<Routes["streamRun"]>;

/** An answer of this shape is asked for. */
const outputOf = (json: JsonObject): Schema => ({
  "~standard": {
    version: 1,
    vendor: "json-schema",
    validate: (value) => {
      const checked = checkJson(json, value);
      return checked.type === "valid" ? { value: checked.value } : { issues: [{ message: checked.message }] };
    },
    ...{ jsonSchema: { input: () => json, output: () => json } },
  },
});

/** What the runtime is asked, in its own words. */
function toRequest({ agentId, threadId: thread, messages, output, ...rest }: RunBody, key: Repeatable | undefined, { principal }: Tenant) {
  return {
    ...rest,
    input: messages,
    ...(agentId === undefined ? undefined : { agent: agentId }),
    ...(thread === undefined ? undefined : { thread }),
    ...(output === undefined ? undefined : { output: outputOf(output) }),
    ...(key === undefined ? undefined : { runId: key.runId, trace: { transportRequestId: key.requestId } }),
    ...(principal === undefined ? undefined : { principal }),
  } satisfies RunRequest;
}

const isEnd = ({ type }: AttachedEvent): boolean => type === "run-end";

/** What a run that was submitted before has done and does, until it is over or waits. */
async function streamAgain({ runtime, records }: Tenant, run: RunRecord): Promise<EventReply> {
  const isLast = async (event: AttachedEvent) => isEnd(event) && (await records.runs.load(run.runId))?.status !== "running";
  const events = await openEvents(runtime, run.runId, { isLast });
  return { events, runId: run.runId, threadId: run.threadId };
}

/** A thread that waits goes on with the run that it waits with: of that run, only what comes now is told. */
async function waitingRun(tenant: Tenant, thread: string | undefined): Promise<RunRecord | undefined> {
  if (thread === undefined) return undefined;
  const found = await tenant.records.threads.load(threadId(thread));
  const run = found === undefined ? undefined : await activeRun(tenant, found);
  return run?.status === "waiting" ? run : undefined;
}

/** The log tells of a run, with cursors: its own events are not listened to, but for the first of one that ends another before it begins. */
async function unheard(run: RunStream, { onBusy }: RunRequest): Promise<void> {
  const events = run[Symbol.asyncIterator]();
  if (onBusy === "interrupt") await events.next();
  void events.return?.();
}

async function streamNew({ runtime }: Tenant, request: RunRequest): Promise<EventReply> {
  if (request.onBusy === "queue") {
    const { runId: id, threadId: thread } = await runtime.start(request);
    return { events: await openEvents(runtime, id, { isLast: isEnd }), runId: id, threadId: thread };
  }
  const run = runtime.stream(request);
  await unheard(run, request);
  const events = await openEvents(runtime, run.id, { begun: run.result, isLast: isEnd });
  return { events, runId: run.id, threadId: run.threadId };
}

async function streamRun(tenant: Tenant, body: RunBody, key: Repeatable | undefined): Promise<EventReply> {
  const { runtime } = tenant;
  const request = toRequest(body, key, tenant);
  const waiting = key === undefined ? await waitingRun(tenant, body.threadId) : undefined;
  if (waiting === undefined) return streamNew(tenant, request);
  // Before anything happens: nothing of it is missed.
  const following = await openEvents(runtime, waiting.runId, { from: "now", isLast: isEnd });
  const run = runtime.stream(request);
  void run[Symbol.asyncIterator]().return?.();
  const first = following.next();
  first.catch(() => {});
  try {
    await Promise.race([first, run.result]);
  } catch (thrown) {
    await following.return?.();
    throw thrown;
  }
  return { events: startingWith(first, following), runId: waiting.runId, threadId: waiting.threadId };
}

function startingWith(first: Promise<IteratorResult<AttachedEvent>>, rest: AsyncIterator<AttachedEvent>): AsyncIterator<AttachedEvent> {
  let head: Promise<IteratorResult<AttachedEvent>> | undefined = first;
  return {
    next() {
      const next = head ?? rest.next();
      head = undefined;
      return next;
    },
    async return() {
      await rest.return?.();
      return { done: true, value: undefined };
    },
  };
}

type RunQuery = QueryOf<Routes["listRuns"]>;

async function listRuns({ records }: Tenant, { limit, cursor, status }: RunQuery, thread?: RunFilter["threadId"]) {
  const filter: RunFilter = {
    ...(thread === undefined ? undefined : { threadId: thread }),
    ...(status === undefined ? undefined : { statuses: [status] }),
  };
  const spelled: JsonObject = { ...(thread === undefined ? undefined : { thread }), ...(status === undefined ? undefined : { status }) };
  const place = pairOf(readCursor("run", cursor, spelled));
  const after: RunPosition | undefined = place === undefined ? undefined : { createdAt: place[0], runId: runId(place[1]) };
  const [{ items, next }, total] = await Promise.all([
    records.runs.list({ ...filter, limit: clampLimit(limit), ...(after === undefined ? undefined : { after }) }),
    records.runs.count(filter),
  ]);
  return {
    items: items.map((run) => viewRun(run)),
    total,
    hasMore: next !== undefined,
    ...(next === undefined ? undefined : { nextCursor: writeCursor("run", [next.createdAt, next.runId], spelled) }),
  };
}

/** With the tickets of all runs below it: they are decided here. */
async function viewFamily({ records }: Tenant, run: RunRecord): Promise<RunView> {
  if (run.status === "done" || run.status === "created") return viewRun(run);
  const own = openTicketsOf(run);
  const below = (await ticketsBelow(records, run)).filter(({ runId: id }) => id !== run.runId);
  return viewRun(run, [...own, ...below]);
}

type ResultView = AnswerOf<Routes["waitForRun"]>;

/** What a schema in this process made of an answer stays here: what is on record of it travels. */
function toResult(result: RunResult): ResultView {
  const usageByAgent = result.usageByAgent.map(({ agentPath, ...used }) => ({ ...used, agentPath: [...agentPath] }));
  if (result.status === "done") {
    const { output, ...done } = result;
    return { ...done, usageByAgent, ...(isJson(output) ? { output } : undefined) };
  }
  return result.status === "waiting" ? { ...result, usageByAgent, tickets: [...result.tickets] } : { ...result, usageByAgent };
}

const WAIT_MS = 30_000;

export const runHandlers: Handlers<
  "listThreadRuns" | "loadActiveRun" | "loadLatestRun" | "listRuns" | "streamRun" | "startRun" | "loadRun" | "waitForRun"
> = {
  async listThreadRuns(call) {
    const { id } = await theThread(call.tenant, idOf(call));
    return listRuns(call.tenant, call.query, id);
  },
  async loadActiveRun(call) {
    const run = await activeRun(call.tenant, await theThread(call.tenant, idOf(call)));
    return { run: run === undefined ? null : await viewFamily(call.tenant, run) };
  },
  async loadLatestRun(call) {
    const { id } = await theThread(call.tenant, idOf(call));
    const run = await call.tenant.records.runs.loadLatest(id);
    if (run === undefined) throw noRun(`of thread ${id}`);
    return viewFamily(call.tenant, run);
  },
  listRuns: ({ tenant, query }) => listRuns(tenant, query),
  async streamRun({ tenant, body, headers, clock }) {
    const key = await readRepeatable(headers, body);
    return submitOnce(tenant, {
      clock,
      key,
      threadId: body.threadId,
      begin: () => streamRun(tenant, body, key),
      again: (run) => streamAgain(tenant, run),
    });
  },
  async startRun({ tenant, body, headers, clock }) {
    const { priority, dedupeKey, ...asked } = body;
    const key = await readRepeatable(headers, body);
    const { runId: id, threadId: thread } = await submitOnce<Started>(tenant, {
      clock,
      key,
      threadId: body.threadId,
      begin: () =>
        tenant.runtime.start({
          ...toRequest(asked, key, tenant),
          ...(priority === undefined ? undefined : { priority }),
          ...(dedupeKey === undefined ? undefined : { dedupeKey }),
        }),
      again: (run) => run,
    });
    return { runId: id, threadId: thread };
  },
  loadRun: async (call) => viewFamily(call.tenant, await theRun(call.tenant, idOf(call))),
  async waitForRun(call) {
    const { runId: id } = await theRun(call.tenant, idOf(call));
    return toResult(await call.tenant.runtime.wait(id, { timeoutMs: call.query.timeoutMs ?? WAIT_MS }));
  },
};
