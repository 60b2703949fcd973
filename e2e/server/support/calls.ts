import { pathOf, ROUTES, type Route, type RouteName } from "@awaken/contract/http";
import { agUi, aiSdk } from "@awaken/server";
import type { AskOptions } from "./client.ts";

/** One right call of a route. */
export interface Sample extends AskOptions {
  readonly query?: string;
}

/** What a tenant has that others may not see. */
export interface Belongings {
  readonly thread: string;
  readonly run: string;
  readonly ticket: string;
  readonly pending: string;
}

const messages = [{ role: "user", content: "say" }];
const decision = { action: "deny", reason: "no" };
const revision = { headers: { "if-match": '"1"' } };

const chat = { id: "own", agentId: "assistant", messages: [{ id: "u", role: "user", parts: [{ type: "text", text: "say" }] }] };
const input = { threadId: "own", runId: "r", agentId: "assistant", messages: [{ id: "u", role: "user", content: "say" }], resume: [] };

/** Those of the server and of its protocols. */
export type CallName = RouteName | keyof typeof aiSdk.routes | keyof typeof agUi.routes;

/** One for each route: a route without one does not compile, and is walked and fuzzed by nobody. */
export const SAMPLES: Readonly<Record<CallName, Sample>> = {
  health: {},
  live: {},
  metrics: {},
  openApi: {},
  systemInfo: {},
  systemModules: {},
  runsSummary: {},
  listQueue: { query: "limit=5" },
  listDeadLetters: { query: "limit=5" },
  replayDeadLetter: {},
  dropDeadLetter: {},
  listThreads: { query: "limit=10" },
  createThread: { body: { title: "T", custom: { a: 1 } } },
  listThreadSummaries: { query: "limit=10" },
  loadThread: {},
  updateThread: { body: { title: "hijacked" } },
  updateThreadMetadata: { body: { title: "hijacked" } },
  deleteThread: { query: "childStrategy=cascade" },
  listMessages: { query: "order=descending&visibility=all" },
  sendMessages: { body: { messages, mode: "queue" } },
  interruptThread: {},
  cancelThread: {},
  decideOnThread: { body: { ...decision, target: "call" } },
  listPending: {},
  editPending: { body: { message: { role: "user", content: "hijacked" } }, ...revision },
  retractPending: revision,
  reorderPending: { body: { order: ["a"] }, ...revision },
  listThreadRuns: { query: "status=done" },
  loadActiveRun: {},
  loadLatestRun: {},
  listRuns: { query: "limit=5" },
  streamRun: { body: { agentId: "assistant", threadId: "own", messages } },
  startRun: { body: { agentId: "assistant", threadId: "own", messages, priority: 1 } },
  loadRun: {},
  waitForRun: { query: "timeoutMs=0" },
  sendInputs: { body: { messages, mode: "steer" } },
  cancelRun: {},
  decideOnRun: { body: { ...decision, target: "call" } },
  decideTicket: { body: decision },
  listThreadEvents: { query: "limit=5" },
  streamThreadEvents: {},
  listRunEvents: { query: "limit=5" },
  streamRunEvents: {},
  aiSdkChat: { body: { ...chat, trigger: "submit-message" }, query: "sdk=6" },
  aiSdkThreadRun: { body: chat },
  aiSdkAgentRun: { body: chat },
  aiSdkChatStream: {},
  aiSdkThreadStream: { query: "sdk=7" },
  aiSdkChatReplay: { query: "limit=5" },
  aiSdkThreadReplay: {},
  aiSdkMessages: { query: "limit=5&order=desc" },
  aiSdkCancel: {},
  aiSdkInterrupt: {},
  aiSdkStop: { body: { activeStreamId: null } },
  agUiRun: { body: { ...input, protocolVersion: "1.0" } },
  agUiThreadRun: { body: input },
  agUiAgentRun: { body: input },
  agUiStream: {},
  agUiReplay: { query: "limit=5" },
  agUiMessages: { query: "protocolVersion=1.0" },
  agUiCapabilities: {},
  agUiCancel: {},
  agUiInterrupt: {},
};

/** What nobody has need not be made before: it is nothing yet, or is made now. */
const ANY_ID: ReadonlySet<string> = new Set([
  "aiSdkThreadRun",
  "aiSdkAgentRun",
  "aiSdkChatStream",
  "aiSdkThreadStream",
  "agUiThreadRun",
  "agUiAgentRun",
  "agUiCapabilities",
] satisfies readonly CallName[]);
export const takesAnyId = (name: CallName): boolean => ANY_ID.has(name);

/** A row as the server has it. */
export function routeOf(name: CallName): Route {
  if (name in ROUTES) return Object(ROUTES)[name];
  for (const { id, endpoints } of [aiSdk, agUi]) {
    const found = endpoints.find((endpoint) => endpoint.name === name)?.route;
    if (found !== undefined) return { ...found, path: `/v1/${id}${found.path}` };
  }
  throw new Error(`there is no route ${name}`);
}

export const NAMES = Object.keys(SAMPLES).filter((name): name is CallName => name in SAMPLES);

/** The path of a route to what somebody has, or to something else that stands first in it, as a URL spells it. */
export function pathTo(name: CallName, { thread, run, ticket, pending }: Belongings, first?: string): string {
  const { path } = routeOf(name);
  const id = path.startsWith("/v1/runs/") ? run : path.startsWith("/v1/tickets/") ? ticket : thread;
  const given = first === undefined ? path : (`/${path.slice(1).replace(/:\w+/, first)}` as const);
  return pathOf({ path: given }, { id, pendingId: pending, threadId: thread, agentId: "assistant" });
}

export const withQuery = (path: string, { query }: Sample): string => (query === undefined ? path : `${path}?${query}`);
