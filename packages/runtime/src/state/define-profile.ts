import { checkOptions, needed, type PartRules, RULES, type Schema, shorten } from "@awaken/contract";
import { checkName, type Value } from "./key.ts";
import type { AnyProfileKey, ProfileKey } from "./profile-key.ts";

const PROFILE: PartRules<Omit<AnyProfileKey, "name">> = { schema: needed(RULES.schema), initial: needed(RULES.code) };

/** Declares a profile. A plugin registers it; without a store its values live as long as the runtime. */
export function defineProfile<T extends Value>(
  name: string,
  init: {
    /** What every value fits, when it is written and when it is read. */
    readonly schema: Schema<T>;
    /** What a missing entry reads as. */
    initial(): NoInfer<T>;
  },
): ProfileKey<T> {
  checkName("a profile", name);
  checkOptions("invalid_definition", `profile '${shorten(name)}'`, init, PROFILE);
  return Object.freeze({ name, schema: init.schema, initial: init.initial });
}

/** Instance strings for state that several agents share. Any other string is as good. */
export const sharedScope = {
  /** One value for everybody. */
  global: "global",
  /** One value for all runs that a thread started. */
  parentThread: (id: string) => `parent_thread::${id}`,
  /** One value for all runs of an agent. */
  agentType: (name: string) => `agent_type::${name}`,
  /** One value for a thread. */
  thread: (id: string) => `thread::${id}`,
} as const;
