import * as z from "zod";
import { count, nonBlank, specId } from "./fields.ts";
import type { Immutable, SpecInput } from "./immutable.ts";
import { parseSpec } from "./parse.ts";

const member = z
  .strictObject({
    model: nonBlank,
    weight: z.int().default(1),
    /** `failover-only` is never the home of a conversation. */
    role: z.enum(["member", "failover-only"]).default("member"),
  })
  .superRefine(({ model, weight }, ctx) => {
    if (weight <= 0) ctx.addIssue({ code: "custom", message: `member '${model}' weight must be greater than zero` });
  });

const members = z.array(member).superRefine((list, ctx) => {
  const models = list.map(({ model }) => model);
  const duplicate = models.find((model, index) => models.indexOf(model) !== index);
  if (list.length === 0) ctx.addIssue({ code: "custom", message: "must declare at least one member" });
  else if (duplicate !== undefined) ctx.addIssue({ code: "custom", message: `duplicate member model '${duplicate}'` });
  else if (!list.some(({ role }) => role === "member")) {
    ctx.addIssue({ code: "custom", message: "must declare at least one member with role 'member'" });
  }
});

const routing = z.strictObject({
  home: z.enum(["deterministic", "round-robin", "first-healthy"]).default("deterministic"),
  stickyScope: z.enum(["thread", "run"]).default("thread"),
});

const switching = z.strictObject({
  onCircuitOpen: z.boolean().default(true),
  onQuota: z.boolean().default(true),
  /** A quota that clears sooner than this is waited for. */
  quotaRetryAfterThresholdSecs: count.exactOptional(),
  onPermanent: z.boolean().default(true),
  /** Without it there is no limit. */
  maxSwitchesPerSession: count.exactOptional(),
});

/** Models that stand in for each other. Its id is in the namespace of model ids. */
export const poolSpecSchema = z.strictObject({
  id: specId,
  members,
  routing: routing.prefault({}),
  switch: switching.prefault({}),
});

export interface PoolSpec extends Immutable<z.output<typeof poolSpecSchema>> {}
export type PoolSpecInput = SpecInput<z.input<typeof poolSpecSchema>>;

export const parsePoolSpec = (id: string, input: unknown): PoolSpec => parseSpec("model pool", id, poolSpecSchema, input);
