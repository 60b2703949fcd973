import { AwakenError } from "@awaken/contract";
import { DECIDING, type Route, SUBMITTING } from "@awaken/contract/http";
import * as s from "@awaken/contract/schema";
import type { AttachedEvent } from "@awaken/runtime";
import { defineProtocol } from "../../routes/endpoint.ts";
import { activeRun, type Call, type FrameReply, idOf, type Tenant, theThread } from "../../routes/served.ts";
import { openTickets } from "../../routes/talk.ts";
import { tellEvents, until } from "../../routes/told-events.ts";
import { comeBack } from "./come-back.ts";
import { AG_UI_ENCODER_VERSION, AgUiEncoder } from "./encoder.ts";
import type { AgUiDialect } from "./frame.ts";
import { interruptOf, isFrontendCall } from "./interrupts.ts";
import { type PathIds, readRun, runInputSchema } from "./request.ts";
import { AgUiStream, loadMessages, run } from "./run.ts";

/** What people say, with what they put beside it. */
const RUN_BODY_BYTES = 12 * 1024 * 1024;
const MAX_REPLAY = 500;
const REPLAY = 100;

const frames = { type: "frames", of: "events of AG-UI", headers: { "x-awaken-encoder": `ag-ui;v=${AG_UI_ENCODER_VERSION}` } } as const;
/** What is said may be a decision. */
const SPEAKING = [...SUBMITTING, ...DECIDING] as const;
const post = {
  method: "POST",
  gate: "invoke",
  body: runInputSchema,
  maxBodyBytes: RUN_BODY_BYTES,
  answer: frames,
  errors: SPEAKING,
} as const;
const accepted = { type: "json", status: 202, schema: s.strictObject({ status: s.string(), threadId: s.string() }) } as const;
const anyJson = (status: 200 | 202) => ({ type: "json", status, schema: s.json() }) as const;

const ROUTES = {
  agUiRun: { ...post, path: "/run", summary: "Runs an agent for an AG-UI client." },
  agUiThreadRun: { ...post, path: "/threads/:threadId/runs", summary: "The same on this thread." },
  agUiAgentRun: { ...post, path: "/agents/:agentId/runs", summary: "The same with this agent." },
  agUiStream: {
    method: "GET",
    gate: "invoke",
    path: "/threads/:threadId/stream",
    summary: "All messages that there are, and what the run at work has said and says, or what the thread waits for.",
    query: s.strictObject({ protocolVersion: s.exactOptional(s.string()) }),
    answer: frames,
    errors: ["thread_not_found"],
  },
  agUiReplay: {
    method: "GET",
    gate: "invoke",
    path: "/threads/:threadId/replay",
    summary: "What is on record, from a cursor on.",
    headers: ["Last-Event-ID"],
    query: s.strictObject({
      protocolVersion: s.exactOptional(s.string()),
      cursor: s.exactOptional(s.string()),
      limit: s.exactOptional(s.string()),
    }),
    answer: frames,
    errors: ["thread_not_found", "invalid_id", "cursor_expired"],
  },
  agUiMessages: {
    method: "GET",
    gate: "invoke",
    path: "/threads/:threadId/messages",
    summary: "The thread as AG-UI messages, and what it waits for.",
    query: s.strictObject({ protocolVersion: s.exactOptional(s.string()) }),
    answer: anyJson(200),
    errors: ["thread_not_found"],
  },
  agUiCapabilities: {
    method: "GET",
    gate: "invoke",
    path: "/agents/:agentId/capabilities",
    summary: "What an agent on this server can do, in the words of AG-UI.",
    answer: anyJson(200),
    errors: [],
  },
  agUiCancel: {
    method: "POST",
    gate: "invoke",
    path: "/threads/:threadId/cancel",
    summary: "Cancels the run that works or waits on the thread.",
    answer: accepted,
    errors: ["thread_not_found", "run_not_found", "thread_already_running", "version_conflict"],
  },
  agUiInterrupt: {
    method: "POST",
    gate: "invoke",
    path: "/threads/:threadId/interrupt",
    summary: "Ends what is at work on the thread, and cancels what is queued.",
    answer: accepted,
    errors: ["thread_not_found", "thread_already_running", "version_conflict"],
  },
} as const satisfies Readonly<Record<string, Route>>;

type Asked = Pick<Call<Route>, "tenant" | "params">;

const threadOf = (call: Pick<Call<Route>, "params">): string => idOf(call, "threadId");

const ask = (call: Asked & Pick<Call<(typeof ROUTES)["agUiRun"]>, "body" | "clock">, path: PathIds) =>
  run(call.tenant, readRun(call.body, path), call.clock.now());

const dialectOf = (version: string | undefined): AgUiDialect => (version === undefined ? "older" : "1.0");

interface Place {
  readonly version: string | undefined;
  readonly cursor: string | undefined;
  readonly limit: number;
}

async function replay(tenant: Tenant, thread: string, { version, cursor, limit }: Place): Promise<FrameReply> {
  if (cursor?.trim() === "") throw new AwakenError("invalid_id", "the cursor is blank");
  await theThread(tenant, thread);
  const { past, coming } = await tellEvents(tenant.runtime, thread);
  await coming.return?.();
  const at = cursor === undefined ? -1 : past.findIndex((event) => event.cursor === cursor);
  if (cursor !== undefined && at === -1) throw new AwakenError("cursor_expired", "the cursor is not one of this thread, or too old");
  const places = past.flatMap((event, index) => (index > at && event.cursor !== undefined ? [index] : []));
  const end = (places[limit - 1] ?? places.at(-1) ?? at) + 1;
  const behind = past[at];
  let isPassed = behind === undefined;
  const isFirst = (event: AttachedEvent) => {
    const isShown = isPassed;
    isPassed ||= event === behind;
    return isShown;
  };
  const events = until(coming, { past: past.slice(0, end), isLast: () => false });
  return { events, threadId: thread, encoder: new AgUiStream(new AgUiEncoder({ dialect: dialectOf(version) }), { recordFrom: isFirst }) };
}

function limitOf(text: string | undefined): number {
  const limit = Number(text ?? REPLAY);
  if (!Number.isInteger(limit) || limit < 1) throw new AwakenError("invalid_query", "limit must be a whole number from 1");
  return Math.min(limit, MAX_REPLAY);
}

/** AG-UI: CopilotKit and every other client of it. */
export const agUi = defineProtocol("ag-ui", ROUTES, {
  agUiRun: async (call) => ask(call, {}),
  agUiThreadRun: async (call) => ask(call, { threadId: threadOf(call) }),
  agUiAgentRun: async (call) => ask(call, { agentId: idOf(call, "agentId") }),
  agUiStream: (call) => comeBack(call.tenant, threadOf(call), dialectOf(call.query.protocolVersion)),
  agUiReplay: async (call) =>
    replay(call.tenant, threadOf(call), {
      version: call.query.protocolVersion,
      cursor: call.query.cursor ?? call.headers.get("last-event-id") ?? undefined,
      limit: limitOf(call.query.limit),
    }),
  async agUiMessages({ tenant, params, query }) {
    const thread = threadOf({ params });
    const open = await activeRun(tenant, await theThread(tenant, thread));
    const tickets = open === undefined ? [] : await openTickets({ tenant }, open);
    const interrupts = tickets
      .filter((ticket) => !isFrontendCall(ticket))
      .map((ticket) => interruptOf(ticket, ticket.runId !== open?.runId));
    const pendingToolCallIds = tickets.filter(isFrontendCall).map(({ toolCallId }) => toolCallId);
    return JSON.parse(
      JSON.stringify({ messages: await loadMessages(tenant, thread, dialectOf(query.protocolVersion)), interrupts, pendingToolCallIds }),
    );
  },
  agUiCapabilities: async (call) => ({
    identity: { name: idOf(call, "agentId"), type: "awaken" },
    transport: { streaming: true, resumable: true },
    tools: { supported: true, clientProvided: true, parallelCalls: true },
    state: { snapshots: true, deltas: false, persistentState: true },
    multiAgent: { supported: true, delegation: true, handoffs: true },
    reasoning: { supported: true, streaming: true, encrypted: true },
    humanInTheLoop: { supported: true, approvals: true, interrupts: true, approveWithEdits: true },
  }),
  async agUiCancel({ tenant, params }) {
    const thread = threadOf({ params });
    await theThread(tenant, thread);
    if (await tenant.runtime.cancel(thread)) return { status: "cancel-requested", threadId: thread };
    throw new AwakenError("run_not_found", `no run of thread '${thread}' can be cancelled`, { details: { threadId: thread } });
  },
  async agUiInterrupt({ tenant, params }) {
    const thread = threadOf({ params });
    await tenant.runtime.interrupt(thread);
    return { status: "interrupt-requested", threadId: thread };
  },
});
