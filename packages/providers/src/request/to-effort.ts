import type { JsonObject, ProviderMetadata, ReasoningEffort } from "@awaken/contract";
import type { Vendor } from "./vendor.ts";

type NamedEffort = Exclude<ReasoningEffort, object>;

/** How hard to think, in a vendor's own options. */
export interface EffortOptions {
  readonly providerOptions: ProviderMetadata;
  readonly warnings: readonly string[];
}

const NOTHING: EffortOptions = { providerOptions: {}, warnings: [] };
/** Within the limits of every model that takes a budget. */
const BUDGET = { none: 0, low: 1024, medium: 8192, high: 24_576, max: 24_576 } as const satisfies Record<NamedEffort, number>;

const warn = (message: string): EffortOptions => ({ providerOptions: {}, warnings: [message] });
const options = (vendor: string, values: JsonObject): EffortOptions => ({ providerOptions: { [vendor]: values }, warnings: [] });

function nearestEffort(budget: number): Exclude<NamedEffort, "max"> {
  if (budget <= 0) return "none";
  if (budget <= BUDGET.low) return "low";
  return budget <= BUDGET.medium ? "medium" : "high";
}

function anthropicThinking(budgetTokens: number): EffortOptions {
  return options("anthropic", { thinking: budgetTokens > 0 ? { type: "enabled", budgetTokens } : { type: "disabled" } });
}

function googleThinking(thinkingBudget: number): EffortOptions {
  return options("google", { thinkingConfig: { thinkingBudget, includeThoughts: thinkingBudget > 0 } });
}

function openaiEffort(effort: NamedEffort): EffortOptions {
  if (effort === "none") return options("openai", { reasoningEffort: "none" });
  return options("openai", { reasoningEffort: effort === "max" ? "high" : effort, reasoningSummary: "auto" });
}

const about = (effort: ReasoningEffort): string => (typeof effort === "object" ? `a budget of ${effort.budget} tokens` : `'${effort}'`);

/** For a model that takes efforts only by its vendor's options. Asking for an effort also asks for the reasoning itself. */
export function toVendorEffort(effort: ReasoningEffort, { family }: Vendor): EffortOptions {
  const budget = typeof effort === "object" ? effort.budget : BUDGET[effort];
  switch (family) {
    case "anthropic":
      return anthropicThinking(budget);
    case "google":
      return googleThinking(budget);
    case "openai": {
      if (typeof effort === "string") return openaiEffort(effort);
      const nearest = nearestEffort(budget);
      return { ...openaiEffort(nearest), warnings: [`reasoning effort: ${about(effort)} was sent as '${nearest}'`] };
    }
    default:
      return warn(`reasoning effort ${about(effort)} was ignored: not known how to ask this vendor for it`);
  }
}

/** For a model that takes named efforts itself: what has to be said besides. */
export function besideNamedEffort(effort: NamedEffort, { family }: Vendor): EffortOptions {
  return family === "google" && effort !== "none" ? options("google", { thinkingConfig: { includeThoughts: true } }) : NOTHING;
}
