import * as s from "@awaken/contract/schema";
import { defineState } from "@awaken/runtime";

export type PromotionsUpdate =
  | {
      readonly type: "promote";
      /** Searched for, or called. */
      readonly tools: readonly string[];
    }
  | {
      readonly type: "step";
      /** After so many steps without a call a tool is hidden again. */
      readonly deferAfter: number;
    };

const promotionsSchema = s.object({
  /** Counted while something is promoted. */
  step: s.int(),
  /** The step of the last search or call, by the id of the tool. */
  promoted: s.record(s.int()),
});

type Promotions = s.output<typeof promotionsSchema>;

function countStep({ step, promoted }: Promotions, deferAfter: number): Promotions {
  const next = step + 1;
  const kept = Object.entries(promoted).filter(([, lastStep]) => next - lastStep < deferAfter);
  return { step: next, promoted: Object.fromEntries(kept) };
}

/** The deferred tools that the model sees in this thread, and since when they were not used. */
export const promotions = defineState("deferred_tools.state", {
  scope: "thread",
  merge: "commutative",
  schema: promotionsSchema,
  initial: (): Promotions => ({ step: 0, promoted: {} }),
  apply(value, update: PromotionsUpdate): Promotions {
    if (update.type === "step") return countStep(value, update.deferAfter);
    return { ...value, promoted: { ...value.promoted, ...Object.fromEntries(update.tools.map((id) => [id, value.step])) } };
  },
});
