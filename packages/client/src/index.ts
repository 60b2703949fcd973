// Public: what users of a client meet.
export { createClient } from "./client.ts";
// Public: what users of a client meet.
export type { AttachedEvent } from "./events.ts";
// Public: what users of a client meet.
export type { PendingVerbs } from "./pending.ts";
// Public: what users of a client meet.
export type { Begun, RunHandle, RunResult } from "./run-handle.ts";
// Public: what users of a client meet.
export type { ClientInit } from "./transport.ts";
// Public: what users of a client meet.
export type {
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
