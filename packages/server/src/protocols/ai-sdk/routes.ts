import { AwakenError } from "@awaken/contract";
import { DECIDING, type Route, SUBMITTING } from "@awaken/contract/http";
import * as s from "@awaken/contract/schema";
import { clampLimit } from "@awaken/contract/store";
import { numberOf, readCursor, writeCursor } from "../../http/cursors.ts";
import { defineProtocol } from "../../routes/endpoint.ts";
import { activeRun, type Call, idOf, type Tenant, theThread } from "../../routes/served.ts";
import { chat } from "./chat.ts";
import { AI_SDK_ENCODER_VERSION } from "./encoder.ts";
import { loadHistory } from "./history.ts";
import { reconnect, replay } from "./replay.ts";
import { chatBodySchema, type PathIds, readChat, readDialect } from "./request.ts";

/** What people say, with what they put beside it. */
const CHAT_BODY_BYTES = 12 * 1024 * 1024;
const MAX_REPLAY = 500;
const REPLAY = 100;

const frames = {
  type: "frames",
  of: "parts of UI messages, as the AI SDK has them",
  headers: { "x-vercel-ai-ui-message-stream": "v1", "x-awaken-encoder": `ai-sdk;v=${AI_SDK_ENCODER_VERSION}` },
} as const;

const sdk = s.exactOptional(s.string());
const dialectQuery = s.strictObject({ sdk });
const limit = s.exactOptional(s.string());
const replayQuery = s.strictObject({ sdk, cursor: s.exactOptional(s.string()), limit });
const historyQuery = s.strictObject({
  sdk,
  limit,
  cursor: s.exactOptional(s.string()),
  order: s.exactOptional(s.enum(["asc", "desc", "ascending", "descending"])),
});

const post = {
  method: "POST",
  gate: "invoke",
  body: chatBodySchema,
  query: dialectQuery,
  maxBodyBytes: CHAT_BODY_BYTES,
  answer: frames,
} as const;
/** What is said may be a decision. */
const SPEAKING = [...SUBMITTING, ...DECIDING] as const;
const COMING_BACK = ["invalid_id", "cursor_expired", "invalid_activation"] as const;
const again = {
  method: "GET",
  gate: "invoke",
  query: dialectQuery,
  headers: ["Last-Event-ID"],
  answer: frames,
  errors: COMING_BACK,
} as const;
const replayed = {
  ...again,
  query: replayQuery,
  summary: "What is on record, from a cursor on.",
  errors: ["thread_not_found", ...COMING_BACK],
} as const;
const accepted = { type: "json", status: 202, schema: s.strictObject({ status: s.string(), threadId: s.string() }) } as const;

const ROUTES = {
  aiSdkChat: {
    ...post,
    path: "/chat",
    summary: "Runs an agent for `useChat`: thread and agent are those of the body.",
    errors: SPEAKING,
  },
  aiSdkThreadRun: { ...post, path: "/threads/:threadId/runs", summary: "The same on this thread.", errors: SPEAKING },
  aiSdkAgentRun: { ...post, path: "/agents/:agentId/runs", summary: "The same with this agent.", errors: SPEAKING },
  aiSdkChatStream: {
    ...again,
    answer: { ...frames, canBeOver: true },
    path: "/chat/:threadId/stream",
    summary: "The message that is being written, from its start; 204 when none is, or nothing was said on the thread yet.",
  },
  aiSdkThreadStream: {
    ...again,
    answer: { ...frames, canBeOver: true },
    path: "/threads/:threadId/stream",
    summary: "The message that is being written, from its start; 204 when none is, or nothing was said on the thread yet.",
  },
  aiSdkChatReplay: { ...replayed, path: "/chat/:threadId/replay" },
  aiSdkThreadReplay: { ...replayed, path: "/threads/:threadId/replay" },
  aiSdkMessages: {
    method: "GET",
    gate: "invoke",
    path: "/threads/:threadId/messages",
    summary: "The thread as UI messages: what `useChat` begins with.",
    query: historyQuery,
    answer: {
      type: "json",
      status: 200,
      schema: s.strictObject({
        messages: s.array(s.json()),
        total: s.number(),
        hasMore: s.boolean(),
        nextCursor: s.exactOptional(s.string()),
      }),
    },
    errors: ["thread_not_found", "invalid_cursor", "invalid_activation"],
  },
  aiSdkCancel: {
    method: "POST",
    gate: "invoke",
    path: "/threads/:threadId/cancel",
    summary: "Cancels the run that works or waits on the thread.",
    answer: accepted,
    errors: ["thread_not_found", "run_not_found", "thread_already_running", "version_conflict"],
  },
  aiSdkInterrupt: {
    method: "POST",
    gate: "invoke",
    path: "/threads/:threadId/interrupt",
    summary: "Ends what is at work on the thread, and cancels what is queued.",
    answer: {
      type: "json",
      status: 202,
      schema: s.strictObject({ status: s.string(), threadId: s.string(), supersededDispatches: s.number(), cancelled: s.boolean() }),
    },
    errors: ["thread_not_found", "thread_already_running", "version_conflict"],
  },
  aiSdkStop: {
    method: "POST",
    gate: "invoke",
    path: "/chat/:threadId/stop",
    summary: "A stop button: cancels the run, unless it names another stream than the one that is there.",
    body: s.object({ assistantMessage: s.exactOptional(s.json()), activeStreamId: s.exactOptional(s.nullable(s.string())) }),
    maxBodyBytes: CHAT_BODY_BYTES,
    answer: accepted,
    errors: ["thread_not_found", "run_not_found", "thread_already_running", "version_conflict"],
  },
} as const satisfies Readonly<Record<string, Route>>;

type Rows = typeof ROUTES;
type Asked = Pick<Call<Route>, "tenant" | "params" | "headers">;

function ask(
  { tenant, body, query, isAdmin }: Pick<Call<Rows["aiSdkChat"]>, "tenant" | "body" | "query" | "isAdmin">,
  path: Omit<PathIds, "sdk">,
) {
  return chat(tenant, readChat(body, { ...path, sdk: query.sdk }), isAdmin);
}

const threadOf = (call: Pick<Call<Route>, "params">): string => idOf(call, "threadId");

const comeBack = (call: Asked & Pick<Call<Rows["aiSdkChatStream"]>, "query">) =>
  reconnect(call.tenant, threadOf(call), {
    dialect: readDialect(call.query.sdk),
    cursor: call.headers.get("last-event-id") ?? undefined,
  });

function countOf(text: string | undefined, usual: number, most: number): number {
  if (text === undefined) return usual;
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1) throw new AwakenError("invalid_query", "limit must be a whole number from 1");
  return Math.min(count, most);
}

const playAgain = (call: Asked & Pick<Call<Rows["aiSdkChatReplay"]>, "query">) =>
  replay(call.tenant, threadOf(call), {
    dialect: readDialect(call.query.sdk),
    cursor: call.query.cursor ?? call.headers.get("last-event-id") ?? undefined,
    limit: countOf(call.query.limit, REPLAY, MAX_REPLAY),
  });

const requested = (thread: string) => ({ status: "cancel-requested", threadId: thread });

async function cancel(tenant: Tenant, thread: string) {
  await theThread(tenant, thread);
  if (await tenant.runtime.cancel(thread)) return requested(thread);
  throw new AwakenError("run_not_found", `no run of thread '${thread}' can be cancelled`, { details: { threadId: thread } });
}

/** The AI SDK: `useChat` and every other reader of its UI message stream. */
export const aiSdk = defineProtocol("ai-sdk", ROUTES, {
  aiSdkChat: async (call) => ask(call, {}),
  aiSdkThreadRun: async (call) => ask(call, { threadId: threadOf(call) }),
  aiSdkAgentRun: async (call) => ask(call, { agentId: idOf(call, "agentId") }),
  aiSdkChatStream: comeBack,
  aiSdkThreadStream: comeBack,
  aiSdkChatReplay: playAgain,
  aiSdkThreadReplay: playAgain,
  async aiSdkMessages(call) {
    const { order = "asc", sdk: asked, cursor } = call.query;
    const thread = threadOf(call);
    const all = await loadHistory(call.tenant, thread, readDialect(asked));
    const filter = { thread, order: order.startsWith("asc") ? "asc" : "desc" };
    const listed = filter.order === "asc" ? all : all.toReversed();
    const from = numberOf(readCursor("ui", cursor, filter)) ?? 0;
    const end = from + clampLimit(call.query.limit === undefined ? undefined : countOf(call.query.limit, 1, Number.MAX_SAFE_INTEGER));
    const messages = listed.slice(from, end).map((message) => JSON.parse(JSON.stringify(message)));
    const hasMore = end < listed.length;
    return { messages, total: all.length, hasMore, ...(hasMore ? { nextCursor: writeCursor("ui", end, filter) } : undefined) };
  },
  aiSdkCancel: (call) => cancel(call.tenant, threadOf(call)),
  async aiSdkInterrupt(call) {
    const thread = threadOf(call);
    const { superseded, cancelled } = await call.tenant.runtime.interrupt(thread);
    return { status: "interrupt-requested", threadId: thread, supersededDispatches: superseded, cancelled };
  },
  async aiSdkStop(call) {
    const thread = threadOf(call);
    const { activeStreamId } = call.body;
    const run = await activeRun(call.tenant, await theThread(call.tenant, thread));
    if (typeof activeStreamId === "string" && activeStreamId !== run?.runId) return requested(thread);
    return cancel(call.tenant, thread);
  },
});
