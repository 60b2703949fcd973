import { createHash } from "node:crypto";
import { perObject, type ToolDescriptor } from "@awaken/contract";
import type { LocalAgentSpec } from "@awaken/contract/spec";
import type { activeSkills } from "../skills/state.ts";

const SEPARATOR = "\u001f";

/** 12 hex digits that stand for these parts. */
export const contentId = (...parts: readonly string[]): string =>
  createHash("sha256").update(parts.join(SEPARATOR)).digest("hex").slice(0, 12);

/** Specs and descriptors are frozen and shared by all runs of a plan, so each is hashed once. */
export const promptIdOf = perObject((agent: LocalAgentSpec): string => contentId(agent.id, "system", agent.instructions));

const toolIdOf = perObject((tool: ToolDescriptor): string => contentId(tool.id, tool.description, JSON.stringify(tool.parameters)));

export const toolIdsOf = perObject((list: readonly ToolDescriptor[]): readonly string[] => list.map(toolIdOf));

type ActiveSkills = ReturnType<typeof activeSkills.initial>;

const NO_SKILLS: readonly string[] = Object.freeze([]);

/** By id and fingerprint, which stands for the text as it was written: what a skill was activated with makes no other skill of it. */
const idsOfActive = perObject(({ active }: ActiveSkills): readonly string[] =>
  Object.keys(active).length === 0
    ? NO_SKILLS
    : Object.freeze(
        Object.entries(active)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([id, { fingerprint }]) => contentId(id, fingerprint)),
      ),
);

/** Of the skills that are active in a run; none where it has no skills. */
export const skillIdsOf = (skills: ActiveSkills | undefined): readonly string[] => (skills === undefined ? NO_SKILLS : idsOfActive(skills));
