// Public: what users of a client meet.
export {
  type AttachOptions,
  type Client,
  createClient,
  type DecisionInput,
  type MessageInput,
  type RunRequest,
  type RunVerbs,
  type StartRequest,
  type ThreadVerbs,
} from "./client.ts";
// Public: what users of a client meet.
export type { AttachedEvent } from "./events.ts";
// Public: what users of a client meet.
export type { PendingVerbs } from "./pending.ts";
// Public: what users of a client meet.
export type { Begun, RunHandle, RunResult } from "./run-handle.ts";
// Public: what users of a client meet.
export type { ClientInit } from "./transport.ts";
