import type { ScopeId, ThreadId } from "@awaken/contract";
import type { Late } from "../stream/door.ts";
import type { Relay } from "./relay.ts";

/** Where readers come in, of whatever tenant. */
export interface Readers {
  /** Until `exit`, also where it cannot be loaded. */
  enter(scopeId: ScopeId): Late<Relay>;
  exit(scopeId: ScopeId): void;
  /** A reader waits for what happens there. */
  expect(scopeId: ScopeId, threadId: ThreadId): (() => void) | undefined;
  /** Calls back when the runtime is closed, until it is told not to. */
  readonly onClosing: (ring: () => void) => () => void;
}
