import { type JsonValue, perObject } from "@awaken/contract";
import { compareSpecificity } from "../pattern/tool-call-pattern.ts";
import type { Policy } from "./policy.ts";
import { compileStored, type Rule } from "./rule.ts";
import type { Behavior } from "./section.ts";

/** The rules of one layer, compiled. */
export interface Layer {
  readonly defaultBehavior: Behavior | undefined;
  readonly rules: readonly Rule[];
}

const EMPTY: Layer = { defaultBehavior: undefined, rules: [] };

/** Compiled once for as long as the state holds this value. Throws when a stored pattern cannot be read: then nobody may pass. */
const compile = perObject(
  (policy: Policy): Layer => ({ defaultBehavior: policy.defaultBehavior, rules: Object.values(policy.rules).map(compileStored) }),
);

export const layerOf = (policy: Policy | undefined): Layer => (policy === undefined ? EMPTY : compile(policy));

/** All rules that count, in no order. */
export interface Rules {
  readonly defaultBehavior: Behavior;
  readonly rules: readonly Rule[];
}

/** One after the other: a later layer takes the place of a rule with the same key, unless that one denies. */
export function joinLayers(definition: Rules, thread: Layer, run: Layer): Rules {
  const defaultBehavior = thread.defaultBehavior ?? definition.defaultBehavior;
  if (thread.rules.length === 0 && run.rules.length === 0) return { defaultBehavior, rules: definition.rules };
  const rules = [thread, run].reduce<readonly Rule[]>((before, { rules: later }) => {
    const keys = new Set(later.map(({ matcher }) => matcher.key));
    return [...before.filter(({ behavior, matcher }) => behavior === "deny" || !keys.has(matcher.key)), ...later];
  }, definition.rules);
  return { defaultBehavior, rules };
}

const STRENGTH: Record<Behavior, number> = { deny: 3, allow: 2, ask: 1 };

const isStronger = (one: Rule, other: Rule): boolean =>
  (STRENGTH[one.behavior] - STRENGTH[other.behavior] || compareSpecificity(one.matcher.pattern, other.matcher.pattern)) > 0;

/** What becomes of a call, and the rule that says so; without one it is the default. */
export interface Judgement {
  readonly behavior: Behavior;
  readonly rule: Rule | undefined;
}

/** A deny that matches wins, then an allow, then an ask; of equals the most specific one is named. */
export function judge({ rules, defaultBehavior }: Rules, toolId: string, input: JsonValue): Judgement {
  let rule: Rule | undefined;
  for (const one of rules) {
    if (one.matcher.matches(toolId, input) && (rule === undefined || isStronger(one, rule))) rule = one;
  }
  return { behavior: rule?.behavior ?? defaultBehavior, rule };
}

/** Whether no call of the tool can pass, whatever its input is. */
export function isShut({ rules, defaultBehavior }: Rules, toolId: string): boolean {
  const about = rules.filter(({ matcher }) => matcher.matchesTool(toolId));
  if (about.some(({ behavior, matcher }) => behavior === "deny" && matcher.pattern.args.type === "any")) return true;
  return defaultBehavior === "deny" && !about.some(({ behavior }) => behavior !== "deny");
}
