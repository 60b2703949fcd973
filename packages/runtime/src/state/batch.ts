import { AwakenError } from "@awaken/contract";
import type { AnyStateKey } from "./key.ts";

export interface Update {
  readonly key: AnyStateKey;
  readonly update: unknown;
}

/** Ordered updates that are committed together. `baseRevision` says which snapshot they were computed from. */
export interface Batch {
  readonly updates: readonly Update[];
  readonly baseRevision: number | undefined;
}

/** The base of both together: they agree, or only one has one. */
export function commonBase(left: number | undefined, right: number | undefined): number | undefined {
  if (left !== undefined && right !== undefined && left !== right) {
    throw new AwakenError("mutation_base_revision_mismatch", `commands were computed from revisions ${left} and ${right}`, {
      details: { left, right },
    });
  }
  return left ?? right;
}
