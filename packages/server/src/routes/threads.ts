import { AwakenError, type JsonObject, runId, threadId } from "@awaken/contract";
import type { QueryOf, Routes } from "@awaken/contract/http";
import { clampLimit, type ThreadFilter, type ThreadPosition, type ThreadRecord } from "@awaken/contract/store";
import { numberOf, pairOf, readCursor, writeCursor } from "../http/cursors.ts";
import { type Call, checkId, type Handlers, idOf, noThread, type Tenant, theThread } from "./served.ts";
import { viewMessage, viewThread } from "./views.ts";

type ThreadQuery = QueryOf<Routes["listThreads"]>;

interface ThreadPage {
  readonly items: readonly ThreadRecord[];
  readonly total: number;
  readonly hasMore: boolean;
  readonly nextCursor?: string;
}

function filterOf({ resourceId, parentThreadId, root }: ThreadQuery): ThreadFilter {
  if (parentThreadId !== undefined && root === true) {
    throw new AwakenError("invalid_query", "a thread with a parent is no root: say root or parentThreadId");
  }
  return {
    ...(resourceId === undefined ? undefined : { resourceId }),
    ...(root === true ? { lineage: { type: "root" } } : undefined),
    ...(parentThreadId === undefined ? undefined : { lineage: { type: "child-of", threadId: threadId(parentThreadId) } }),
  };
}

const spelled = ({ resourceId, parentThreadId, root }: ThreadQuery): JsonObject => ({
  ...(resourceId === undefined ? undefined : { resourceId }),
  ...(parentThreadId === undefined ? undefined : { parentThreadId }),
  ...(root === true ? { root } : undefined),
});

async function listThreads({ records }: Tenant, query: ThreadQuery): Promise<ThreadPage> {
  const filter = filterOf(query);
  const place = pairOf(readCursor("thr", query.cursor, spelled(query)));
  const after: ThreadPosition | undefined = place === undefined ? undefined : { updatedAt: place[0], id: threadId(place[1]) };
  const [{ items, next }, total] = await Promise.all([
    records.threads.list({ ...filter, limit: clampLimit(query.limit), ...(after === undefined ? undefined : { after }) }),
    records.threads.count(filter),
  ]);
  return {
    items,
    total,
    hasMore: next !== undefined,
    ...(next === undefined ? undefined : { nextCursor: writeCursor("thr", [next.updatedAt, next.id], spelled(query)) }),
  };
}

async function updateThread(call: Pick<Call<Routes["updateThread"]>, "tenant" | "params" | "body">) {
  const { tenant, body } = call;
  const { id } = await theThread(tenant, idOf(call));
  return viewThread(await tenant.records.threads.update(id, body));
}

type MessageQuery = QueryOf<Routes["listMessages"]>;

const spelledMessages = ({ order = "ascending", visibility = "external", runId, after, before }: MessageQuery): JsonObject => ({
  order,
  visibility,
  ...(runId === undefined ? undefined : { runId }),
  ...(after === undefined ? undefined : { after }),
  ...(before === undefined ? undefined : { before }),
});

const BARE = /^\d{1,15}$/;

/** A seq alone is a cursor, too. */
function placeOf(query: MessageQuery): number | undefined {
  const { cursor } = query;
  if (cursor !== undefined && BARE.test(cursor)) return Number(cursor);
  return numberOf(readCursor("msg", cursor, spelledMessages(query)));
}

function windowOf(query: MessageQuery) {
  const { order = "ascending", after, before } = query;
  const place = placeOf(query);
  const afterSeq = order === "ascending" ? (place ?? after) : after;
  const beforeSeq = order === "descending" ? (place ?? before) : before;
  return {
    order,
    ...(afterSeq === undefined ? undefined : { afterSeq }),
    ...(beforeSeq === undefined ? undefined : { beforeSeq }),
  };
}

export const threadHandlers: Handlers<
  | "listThreads"
  | "listThreadSummaries"
  | "createThread"
  | "loadThread"
  | "updateThread"
  | "updateThreadMetadata"
  | "deleteThread"
  | "listMessages"
> = {
  async listThreads({ tenant, query }) {
    const { items, ...page } = await listThreads(tenant, query);
    return { ...page, items: items.map(viewThread) };
  },
  async listThreadSummaries({ tenant, query }) {
    const { items, ...page } = await listThreads(tenant, query);
    const runs = await Promise.all(
      items.map(({ latestRun }) => (latestRun === undefined ? undefined : tenant.records.runs.load(latestRun.id))),
    );
    return {
      ...page,
      items: items.map(({ id, resourceId, parentThreadId, metadata: { title, updatedAt } }, index) => ({
        id,
        updatedAt,
        ...(resourceId === undefined ? undefined : { resourceId }),
        ...(parentThreadId === undefined ? undefined : { parentThreadId }),
        ...(title === undefined ? undefined : { title }),
        ...(runs[index] === undefined ? undefined : { agentId: runs[index].agentId }),
      })),
    };
  },
  async createThread({ tenant, body }) {
    const { id = crypto.randomUUID(), ...rest } = body;
    return viewThread(await tenant.records.threads.create({ ...rest, id: threadId(checkId(id)) }));
  },
  loadThread: async (call) => viewThread(await theThread(call.tenant, idOf(call))),
  updateThread,
  updateThreadMetadata: updateThread,
  async deleteThread(call) {
    const { tenant, query } = call;
    try {
      await tenant.records.threads.delete(threadId(idOf(call)), query.childStrategy ?? "detach");
    } catch (thrown) {
      throw AwakenError.is(thrown) && thrown.code === "storage_not_found" ? noThread(idOf(call)) : thrown;
    }
  },
  async listMessages(call) {
    const { tenant, query } = call;
    const { id } = await theThread(tenant, idOf(call));
    const filter = {
      visibility: query.visibility ?? "external",
      ...(query.runId === undefined ? undefined : { runId: runId(query.runId) }),
    } as const;
    const window = windowOf(query);
    const bounds = {
      ...(query.after === undefined ? undefined : { afterSeq: query.after }),
      ...(query.before === undefined ? undefined : { beforeSeq: query.before }),
    };
    const [{ items, next }, total] = await Promise.all([
      tenant.records.messages.list(id, { ...filter, ...window, limit: clampLimit(query.limit) }),
      tenant.records.messages.count(id, { ...filter, ...bounds }),
    ]);
    return {
      items: items.map(viewMessage),
      total,
      hasMore: next !== undefined,
      ...(next === undefined ? undefined : { nextCursor: writeCursor("msg", next, spelledMessages(query)) }),
    };
  },
};
