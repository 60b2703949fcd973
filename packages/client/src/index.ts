export { createClient } from "./client.ts";
export type { AttachedEvent } from "./events.ts";
export type { PendingVerbs } from "./pending.ts";
export type { Begun, RunHandle, RunResult } from "./run-handle.ts";
export type { ClientInit } from "./transport.ts";
export type {
  // Public: what users of a client meet.
  AdminVerbs,
  AttachOptions,
  Client,
  DecisionInput,
  MessageInput,
  RunRequest,
  RunVerbs,
  StartRequest,
  ThreadVerbs,
} from "./verbs.ts";
