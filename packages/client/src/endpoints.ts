import type { AnswerOf, BodyInputOf, QueryInputOf, RouteName, Routes } from "@awaken/contract/http";

/** What the client asks for, as the table of routes has it; the table itself, with its schemas, stays out of browsers. */
export const ENDPOINTS = {
  streamRun: "POST /v1/runs",
  startRun: "POST /v1/runs/start",
  listRuns: "GET /v1/runs",
  loadRun: "GET /v1/runs/:id",
  waitForRun: "GET /v1/runs/:id/result",
  cancelRun: "POST /v1/runs/:id/cancel",
  sendInputs: "POST /v1/runs/:id/inputs",
  listRunEvents: "GET /v1/runs/:id/events",
  streamRunEvents: "GET /v1/runs/:id/events/stream",
  decideTicket: "POST /v1/tickets/:id/decision",
  decideOnRun: "POST /v1/runs/:id/decision",
  listThreads: "GET /v1/threads",
  listThreadSummaries: "GET /v1/threads/summaries",
  createThread: "POST /v1/threads",
  loadThread: "GET /v1/threads/:id",
  updateThread: "PATCH /v1/threads/:id",
  deleteThread: "DELETE /v1/threads/:id",
  listMessages: "GET /v1/threads/:id/messages",
  sendMessages: "POST /v1/threads/:id/messages",
  interruptThread: "POST /v1/threads/:id/interrupt",
  cancelThread: "POST /v1/threads/:id/cancel",
  listThreadRuns: "GET /v1/threads/:id/runs",
  listThreadEvents: "GET /v1/threads/:id/events",
  streamThreadEvents: "GET /v1/threads/:id/events/stream",
  listPending: "GET /v1/threads/:id/pending",
  editPending: "PATCH /v1/threads/:id/pending/:pendingId",
  retractPending: "DELETE /v1/threads/:id/pending/:pendingId",
  listQueue: "GET /v1/queue",
  listDeadLetters: "GET /v1/dead-letters",
  replayDeadLetter: "POST /v1/dead-letters/:id/replay",
  dropDeadLetter: "DELETE /v1/dead-letters/:id",
  reorderPending: "PUT /v1/threads/:id/pending/order",
} as const satisfies { readonly [Name in RouteName]?: `${Routes[Name]["method"]} ${Routes[Name]["path"]}` };

export type Endpoint = keyof typeof ENDPOINTS;
export type Answer<Name extends Endpoint> = AnswerOf<Routes[Name]>;
export type Body<Name extends Endpoint> = BodyInputOf<Routes[Name]>;
export type Query<Name extends Endpoint> = QueryInputOf<Routes[Name]>;

/** Method and path, with ids where the path has names. */
export function endpoint(name: Endpoint, ids: Readonly<Record<string, string>>): { readonly method: string; readonly path: string } {
  const [method = "", path = ""] = ENDPOINTS[name].split(" ");
  return { method, path: path.replace(/:([A-Za-z]+)/g, (_, id: string) => encodeURIComponent(ids[id] ?? "")) };
}
