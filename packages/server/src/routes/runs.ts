import { AwakenError, isJson, isSettled, type JsonObject, openTicketsOf, type RunRecord, runId, type Schema } from "@awaken/contract";
import type { AnswerOf, BodyOf, QueryOf, Routes } from "@awaken/contract/http";
import { checkJson } from "@awaken/contract/json-schema";
import { clampLimit, type RunFilter, type RunPosition } from "@awaken/contract/store";
import { type RunRequest, type RunResult, type Started, ticketsBelow } from "@awaken/runtime";
import { pairOf, readCursor, writeCursor } from "../http/cursors.ts";
import { type Repeatable, readRepeatable, submitOnce } from "./idempotency.ts";
import { activeRun, type Call, type Handlers, idOf, noRun, type Tenant, theRun, theThread } from "./served.ts";
import { streamAgain, streamRun } from "./stream-run.ts";
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

/** No longer than asked for, also when the run is executed in this process: whoever asks does not know which one that is. */
async function waitFor(
  { tenant: { runtime }, clock }: Pick<Call<Routes["waitForRun"]>, "tenant" | "clock">,
  run: RunRecord,
  timeoutMs: number,
) {
  const { runId: id, status } = run;
  const result = runtime.wait(id, { timeoutMs });
  if (isSettled(run)) return result;
  const { promise: late, reject } = Promise.withResolvers<never>();
  const why = new AwakenError("timeout", `run '${id}' is ${status} after ${timeoutMs} ms`, { details: { runId: id, status } });
  const stop = clock.timer(timeoutMs, () => reject(why));
  result.catch(() => {});
  return Promise.race([result, late]).finally(stop);
}

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
  streamRun({ tenant, body, headers, clock }) {
    const submit = (key?: Repeatable) =>
      submitOnce(tenant, {
        clock,
        key,
        threadId: body.threadId,
        begin: () => streamRun(tenant, toRequest(body, key, tenant)),
        again: (run) => streamAgain(tenant, run),
      });
    const key = readRepeatable(headers, body);
    return key === undefined ? submit() : key.then(submit);
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
    const run = await theRun(call.tenant, idOf(call));
    return toResult(await waitFor(call, run, call.query.timeoutMs ?? WAIT_MS));
  },
};
