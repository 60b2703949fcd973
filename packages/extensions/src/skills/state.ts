import * as s from "@awaken/contract/schema";
import { defineState } from "@awaken/runtime";

const activeSchema = s.object({
  /** By skill id. */
  active: s.record(s.object({ instructions: s.string(), fingerprint: s.string() })),
});

type Active = s.output<typeof activeSchema>;

export type ActiveSkillsUpdate =
  | {
      readonly type: "activate";
      /** One that is active already gets the new instructions. */
      readonly skillId: string;
      /** With its arguments in their places. */
      readonly instructions: string;
      /** Of the skill as it was then. */
      readonly fingerprint: string;
    }
  | {
      readonly type: "deactivate";
      /** One that is not active stays so. */
      readonly skillId: string;
    };

/** The skills that are active in a run. Two that are activated at the same time both are. */
export const activeSkills = defineState("skills", {
  merge: "commutative",
  schema: activeSchema,
  initial: (): Active => ({ active: {} }),
  apply(value: Active, update: ActiveSkillsUpdate): Active {
    const { [update.skillId]: _, ...others } = value.active;
    if (update.type === "deactivate") return { active: others };
    const { instructions, fingerprint } = update;
    return { active: { ...others, [update.skillId]: { instructions, fingerprint } } };
  },
});

const visibilitySchema = s.object({
  /** By skill id; what is not here is visible. */
  shown: s.record(s.boolean()),
});

type Visibility = s.output<typeof visibilitySchema>;

export type SkillVisibilityUpdate =
  | {
      /** Which of the two. */
      readonly type: "show" | "hide";
      /** Of one skill. */
      readonly skillId: string;
    }
  | {
      readonly type: "show-batch";
      /** All of these. */
      readonly skillIds: readonly string[];
    }
  | {
      readonly type: "set-batch";
      /** What is not named stays as it is. */
      readonly shown: { readonly [skillId: string]: boolean };
    };

/** Which skills the model is told of in this run. A skill that the model may not invoke stays hidden whatever is set here. */
export const skillVisibility = defineState("skills.visibility", {
  merge: "commutative",
  persistent: false,
  schema: visibilitySchema,
  initial: (): Visibility => ({ shown: {} }),
  apply({ shown }: Visibility, update: SkillVisibilityUpdate): Visibility {
    switch (update.type) {
      case "show":
      case "hide":
        return { shown: { ...shown, [update.skillId]: update.type === "show" } };
      case "show-batch":
        return { shown: { ...shown, ...Object.fromEntries(update.skillIds.map((id) => [id, true])) } };
      case "set-batch":
        return { shown: { ...shown, ...update.shown } };
    }
  },
});
