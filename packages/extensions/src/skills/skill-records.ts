import { createHash } from "node:crypto";
import { AwakenError } from "@awaken/contract";
import { SkillError } from "./skill-error.ts";
import { substitute } from "./substitute.ts";
import type { Skill, SkillArgument, SkillSource } from "./types.ts";

/** A skill as data: no files, no scripts. */
export interface SkillRecord {
  /** When to use it, for the model. */
  readonly description: string;
  /** What the model shall do; `${name}` stands for an argument. */
  readonly instructions: string;
  /** For people. Default: the id. */
  readonly name?: string;
  /** More about when to use it. */
  readonly whenToUse?: string;
  /** Ids or globs of tools that it may use without being asked for. */
  readonly allowedTools?: readonly string[];
  /** What it takes. Default: whatever is given. */
  readonly arguments?: readonly {
    /** As it stands in the text. */
    readonly name: string;
    /** For the model. */
    readonly description?: string;
    /** Default false. */
    readonly required?: boolean;
  }[];
  /** False hides it from the model. Default true. */
  readonly modelInvocable?: boolean;
}

const unsupported = (): Promise<never> => Promise.reject(new SkillError("unsupported_operation", "the skill has no files"));

function toSkill(id: string, record: SkillRecord): Skill {
  const { description, instructions, name = id, whenToUse, allowedTools = [], modelInvocable = true } = record;
  const refuse = (why: string): never => {
    throw new AwakenError("invalid_spec", `skill '${id}': ${why}`, { details: { skill: id } });
  };
  if (id.trim() === "" || typeof description !== "string" || description.trim() === "") refuse("an id and a description are required");
  if (typeof instructions !== "string") refuse("'instructions' must be text");
  const scoped = allowedTools.find((token) => /[\s(),]/.test(token));
  if (scoped !== undefined) refuse(`'${scoped}' is no tool: a record grants whole tools, by id or glob`);
  const declared: readonly SkillArgument[] | undefined = record.arguments?.map((one) => ({ ...one, required: one.required ?? false }));
  return {
    id,
    name,
    description,
    whenToUse,
    allowedTools,
    arguments: declared,
    modelInvocable,
    fingerprint: createHash("sha256").update(JSON.stringify(record)).digest("hex"),
    hasResources: false,
    hasScripts: false,
    instruct: (args) => substitute(instructions, declared, args),
    load: unsupported,
    findScript: unsupported,
  };
}

/** Skills as data, by id. Throws what is wrong with one. */
export function skillRecords(records: { readonly [id: string]: SkillRecord }): SkillSource {
  const skills = Object.entries(records).map(([id, record]) => toSkill(id, record));
  return { name: "records", list: async () => ({ skills, warnings: [] }) };
}
