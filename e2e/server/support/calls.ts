import { pathOf, ROUTES, type Route, type RouteName } from "@awaken/contract/http";
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

/** One for each route: a route without one does not compile, and is walked and fuzzed by nobody. */
export const SAMPLES: Readonly<Record<RouteName, Sample>> = {
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
};

export const NAMES = Object.keys(ROUTES).filter((name): name is RouteName => name in ROUTES);

/** The path of a route to what somebody has. */
export function pathTo(name: RouteName, { thread, run, ticket, pending }: Belongings): string {
  const route: Route = ROUTES[name];
  const id = route.path.startsWith("/v1/runs/") ? run : route.path.startsWith("/v1/tickets/") ? ticket : thread;
  return pathOf(route, { id, pendingId: pending });
}

export const withQuery = (path: string, { query }: Sample): string => (query === undefined ? path : `${path}?${query}`);
