import * as s from "@awaken/contract/schema";
import { defineState } from "@awaken/runtime";
import { type RuleSource, type StoredRule, storedRuleSchema, subjectKey, subjectOf } from "./rule.ts";
import { BEHAVIORS, type Behavior } from "./section.ts";

/** A change of the rules of a thread or a run. Patterns are read when it is applied: a malformed one throws. */
export type PolicyUpdate =
  | {
      readonly type: "set-default";
      /** What becomes of a call that no rule matches. */
      readonly behavior: Behavior;
    }
  | {
      readonly type: "set-tool";
      /** The id itself, whatever it is made of. */
      readonly toolId: string;
      /** What becomes of its calls. */
      readonly behavior: Behavior;
      /** Who says so. Default `runtime`. */
      readonly source?: RuleSource;
    }
  | {
      readonly type: "set-rule";
      /** A tool-call pattern. */
      readonly pattern: string;
      /** What becomes of the calls that it matches. */
      readonly behavior: Behavior;
      /** Who says so. Default `runtime`. */
      readonly source?: RuleSource;
    }
  | {
      /** Takes the rule of the tool away, or sets it. */
      readonly type: "remove-tool" | "allow-tool" | "deny-tool";
      /** The id itself. */
      readonly toolId: string;
    }
  | {
      readonly type: "remove-rule";
      /** In any spelling. */
      readonly pattern: string;
    }
  | { readonly type: "clear-tools" };

const policySchema = s.object({
  /** Takes the place of the agent's own default. */
  defaultBehavior: s.exactOptional(s.enum(BEHAVIORS)),
  /** By key: `tool:<id>` or `pattern:<canonical text>`. */
  rules: s.record(storedRuleSchema),
});

/** The rules of one layer. */
export type Policy = s.output<typeof policySchema>;

function put(policy: Policy, subject: StoredRule["subject"], behavior: Behavior, source: RuleSource = "runtime"): Policy {
  return { ...policy, rules: { ...policy.rules, [subjectKey(subject)]: { subject, behavior, source } } };
}

function without(policy: Policy, isGone: (key: string, rule: StoredRule) => boolean): Policy {
  return { ...policy, rules: Object.fromEntries(Object.entries(policy.rules).filter(([key, rule]) => !isGone(key, rule))) };
}

function apply(policy: Policy, update: PolicyUpdate): Policy {
  switch (update.type) {
    case "set-default":
      return { ...policy, defaultBehavior: update.behavior };
    case "set-tool":
      return put(policy, { type: "tool", toolId: update.toolId }, update.behavior, update.source);
    case "set-rule":
      return put(policy, subjectOf(update.pattern), update.behavior, update.source);
    case "allow-tool":
    case "deny-tool":
      return put(policy, { type: "tool", toolId: update.toolId }, update.type === "allow-tool" ? "allow" : "deny");
    case "remove-tool":
      return without(policy, (key) => key === `tool:${update.toolId}`);
    case "remove-rule": {
      const gone = subjectKey(subjectOf(update.pattern));
      return without(policy, (key) => key === gone);
    }
    case "clear-tools":
      return without(policy, (_, { subject }) => subject.type === "tool");
  }
}

/** What was decided for the whole thread: remembered answers, and what a host puts there. */
export const permissionPolicy = defineState("permission_policy", {
  scope: "thread",
  merge: "commutative",
  schema: policySchema,
  initial: (): Policy => ({ rules: {} }),
  apply,
});

/** What is granted for one run, as by a skill. It has no default of its own, and never undoes a deny. */
export const permissionOverrides = defineState("permission_overrides", {
  merge: "commutative",
  schema: policySchema,
  initial: (): Policy => ({ rules: {} }),
  apply: (policy: Policy, update: PolicyUpdate) => (update.type === "set-default" ? policy : apply(policy, update)),
});
