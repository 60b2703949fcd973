import { AwakenError, type MergeRule } from "@awaken/contract";
import { type Batch, commonBase } from "./batch.ts";

/** The rule of a key by name; a key that nobody registered is exclusive. */
export type RuleOf = (key: string) => MergeRule;

/** The first key that both update and that does not commute. */
export function conflictingKey(left: Batch, right: Batch, ruleOf: RuleOf): string | undefined {
  if (left.updates.length === 0) return undefined;
  const isTaken = (name: string) => left.updates.some(({ key }) => key.name === name);
  return right.updates.find(({ key }) => isTaken(key.name) && ruleOf(key.name) === "exclusive")?.key.name;
}

/** Two authors who did not know of each other. All or nothing: one conflict refuses the whole merge. */
export function mergeBatches(left: Batch, right: Batch, ruleOf: RuleOf): Batch {
  const baseRevision = commonBase(left.baseRevision, right.baseRevision);
  const key = conflictingKey(left, right, ruleOf);
  if (key !== undefined) {
    throw new AwakenError("parallel_merge_conflict", `two parallel updates of the exclusive state key '${key}'`, { details: { key } });
  }
  return { updates: [...left.updates, ...right.updates], baseRevision };
}
