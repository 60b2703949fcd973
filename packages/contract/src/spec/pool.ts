import * as s from "../schema/all.ts";
import { count, nonBlank, specId } from "./fields.ts";
import type { Immutable, SpecInput } from "./immutable.ts";
import { parseSpec } from "./parse.ts";

const member = s
  .strictObject({
    /** The id of a model. */
    model: nonBlank,
    /** Its share when members are chosen evenly. Default 1. */
    weight: s.withDefault(s.int(), 1),
    /** `failover-only` is never the home of a conversation. */
    role: s.withDefault(s.enum(["member", "failover-only"]), "member"),
  })
  .check(
    s.rule(({ model, weight }, report) => {
      if (weight <= 0) report(s.message(`member '${model}' weight must be greater than zero`));
    }),
  );

const members = s.array(member).check(
  s.rule((list, report) => {
    const models = list.map(({ model }) => model);
    const duplicate = models.find((model, index) => models.indexOf(model) !== index);
    if (list.length === 0) report(s.message("must declare at least one member"));
    else if (duplicate !== undefined) report(s.message(`duplicate member model '${duplicate}'`));
    else if (!list.some(({ role }) => role === "member")) {
      report(s.message("must declare at least one member with role 'member'"));
    }
  }),
);

const routing = s.strictObject({
  /** How the member is chosen that a conversation begins with. Default `deterministic`: by its id. */
  home: s.withDefault(s.enum(["deterministic", "round-robin", "first-healthy"]), "deterministic"),
  /** How long a conversation stays with its member. Default `thread`. */
  stickyScope: s.withDefault(s.enum(["thread", "run"]), "thread"),
});

const switching = s.strictObject({
  /** Leaves a member that failed too often. Default true. */
  onCircuitOpen: s.withDefault(s.boolean(), true),
  /** Leaves a member whose quota is used up. Default true. */
  onQuota: s.withDefault(s.boolean(), true),
  /** A quota that clears sooner than this is waited for. */
  quotaRetryAfterThresholdSecs: s.exactOptional(count),
  /** Leaves a member that refuses for good, like a wrong key. Default true. */
  onPermanent: s.withDefault(s.boolean(), true),
  /** Without it there is no limit. */
  maxSwitchesPerSession: s.exactOptional(count),
});

/** Models that stand in for each other. Its id is in the namespace of model ids. */
export const poolSpecSchema = s.strictObject({
  id: specId,
  /** The models, each at most once. One at least has the role `member`. */
  members,
  /** Which member a conversation gets, and for how long. */
  routing: s.withDefault(routing, {}),
  /** When another member is asked instead. */
  switch: s.withDefault(switching, {}),
});

export interface PoolSpec extends Immutable<s.output<typeof poolSpecSchema>> {}
export type PoolSpecInput = SpecInput<s.input<typeof poolSpecSchema>>;

export const parsePoolSpec = (id: string, input: unknown): PoolSpec => parseSpec("model pool", id, poolSpecSchema, input);
