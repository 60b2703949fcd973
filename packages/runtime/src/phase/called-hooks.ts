import type { HookPhase } from "@awaken/contract";
import { isPromise } from "../stream/bounds.ts";
import type { Command } from "./command.ts";
import type { HookEntry } from "./hook.ts";

/** What a hook gave, or will give. A hook that does not wait costs no promise. */
export type Given = Command | undefined | Promise<Command | undefined>;

export interface CalledHooks<P extends HookPhase> {
  readonly entries: readonly HookEntry<P>[];
  readonly given: readonly Given[];
  readonly revision: number;
  readonly phase: P;
}

export const isHere = (given: Given): given is Command | undefined => !isPromise(given);
