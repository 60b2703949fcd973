import * as s from "@awaken/contract/schema";

const MODES = ["eager", "deferred"] as const;

const positive = s.number().check(s.positive());

/** An agent's section `deferred-tools`. */
export const deferredToolsSectionSchema = s.strictObject({
  /** Whether tools are deferred at all. Default null: when that saves more than it costs. */
  enabled: s.withDefault(s.nullable(s.boolean()), null),
  /** Which tools the model always sees, and which it has to look for; the first that matches decides. */
  rules: s.withDefault(
    s.array(
      s.strictObject({
        /** An id, or a glob over ids. */
        tool: s.string(),
        /** `eager`: always offered. `deferred`: offered when it was searched for or used. */
        mode: s.enum(MODES),
      }),
    ),
    [],
  ),
  /** For tools that no rule matches. Default `deferred`. */
  defaultMode: s.withDefault(s.enum(MODES), "deferred"),
  /** What the search itself costs, in tokens: by itself it is used when deferring saves more. Default 1136. */
  betaOverhead: s.withDefault(s.int().check(s.atLeast(0)), 1136),
  /** Read and kept for files that have it; it decides nothing. */
  agentPriors: s.exactOptional(s.record(s.number())),
  /** When a tool that was searched for is hidden again. */
  discBeta: s.withDefault(
    s.strictObject({
      /** After so many steps without a call. Default 5. */
      deferAfter: s.withDefault(s.int().check(s.atLeast(1)), 5),
      /** Read and kept for files that have it; it decides nothing. */
      omega: s.exactOptional(positive),
      /** Read and kept for files that have it; it decides nothing. */
      n0: s.exactOptional(positive),
      /** Read and kept for files that have it; it decides nothing. */
      threshMult: s.exactOptional(positive),
      /** Read and kept for files that have it; it decides nothing. */
      gamma: s.exactOptional(positive),
    }),
    { deferAfter: 5 },
  ),
});

/** What an agent's section says, with its defaults. */
export type DeferredToolsSection = s.output<typeof deferredToolsSectionSchema>;

/** What may be written into an agent's section. */
export type DeferredToolsSectionInput = s.input<typeof deferredToolsSectionSchema>;
