import { AwakenError, type ScopeId, type ThreadId } from "@awaken/contract";
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

/** The same, which may have to be loaded first. */
export interface LateReaders {
  /** Undefined as long as it is being loaded. */
  now(): Readers | undefined;
  open(): Late<Readers>;
}

export const nothingKept = (): AwakenError =>
  new AwakenError("capability_mismatch", "there is nothing to attach to: the runtime has no store, or one that keeps no events");

/** Where nothing is kept that somebody could follow. */
export const NO_READERS: Readers = {
  enter: () => {
    throw nothingKept();
  },
  exit: () => {},
  expect: () => undefined,
  onClosing: () => () => {},
};
