import type { JsonValue } from "@awaken/contract";

export interface SkillArgument {
  /** As it stands in the text: `${name}`. */
  readonly name: string;
  /** For the model. */
  readonly description?: string;
  /** Whether the skill cannot be activated without it. */
  readonly required: boolean;
}

export type ResourceKind = "reference" | "asset";

/** Text of a reference, base64 of an asset. */
export interface SkillResource {
  /** From which of the two folders. */
  readonly kind: ResourceKind;
  /** The text, or the bytes in base64. */
  readonly content: string;
}

/** A script that is known to lie inside its skill. */
export interface SkillScript {
  /** Where it lies, without links. */
  readonly path: string;
  /** The folder of its skill, where it runs. */
  readonly root: string;
}

export interface Skill {
  /** What the model activates it by. */
  readonly id: string;
  /** For people; mostly the id. */
  readonly name: string;
  /** When to use it, for the model. */
  readonly description: string;
  /** More about when, behind the description. */
  readonly whenToUse: string | undefined;
  /** Tools that it may use without being asked for, while the run lasts: ids, globs, or tool-call patterns. */
  readonly allowedTools: readonly string[];
  /** What it declares; undefined when it declares nothing, and takes what comes. */
  readonly arguments: readonly SkillArgument[] | undefined;
  /** False hides it from the model for good. */
  readonly modelInvocable: boolean;
  /** Changes with the skill. */
  readonly fingerprint: string;
  /** Whether there is something to load. */
  readonly hasResources: boolean;
  /** Whether there is something to run. */
  readonly hasScripts: boolean;
  /** The instructions for these arguments. Throws a `SkillError`. */
  instruct(args: JsonValue | undefined): string | Promise<string>;
  /** What lies under `references/` or `assets/`. Throws a `SkillError`. */
  load(path: string, kind: ResourceKind | undefined): Promise<SkillResource>;
  /** What lies under `scripts/`. Throws a `SkillError`. */
  findScript(path: string): Promise<SkillScript>;
}

/** All skills that a source has, and what it had to leave out. */
export interface SkillListing {
  /** In any order. */
  readonly skills: readonly Skill[];
  /** For people who operate it: each is logged once. */
  readonly warnings: readonly string[];
}

/** Where skills come from. */
export interface SkillSource {
  /** For warnings. */
  readonly name: string;
  /** Asked before each inference of an agent that has skills: it should answer from memory while nothing changed. Rejects when it cannot tell. */
  list(now: number): Promise<SkillListing>;
}
