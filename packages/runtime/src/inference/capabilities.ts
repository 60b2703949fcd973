import { isRealDate as isCutoff, type ModelSpec } from "@awaken/contract/spec";
import { tableCapabilities } from "./capability-table.ts";

export { isCutoff };

/** What a model can do, as far as somebody said. */
export type Capabilities = Partial<
  Pick<
    ModelSpec,
    | "contextWindow"
    | "maxOutputTokens"
    | "modalities"
    | "knowledgeCutoff"
    | "inputTokenPricePerMillionUsd"
    | "outputTokenPricePerMillionUsd"
  >
>;

/** `trusted` was said by the spec or by the provider; `known` has our own table's guesses too and must not refuse or tell a model anything. */
export interface ModelCapabilities {
  readonly known: Capabilities;
  readonly trusted: Capabilities;
}

const isLimit = (value: number | undefined): boolean => value !== undefined && Number.isSafeInteger(value) && value > 0;

/** Without what cannot be true: limits of nothing, an answer larger than the window, a cutoff that is no date. */
function plausible(given: Capabilities): Capabilities {
  const { contextWindow, maxOutputTokens, modalities, knowledgeCutoff: cutoff, ...prices } = given;
  const window = isLimit(contextWindow) ? contextWindow : undefined;
  const output = isLimit(maxOutputTokens) && (maxOutputTokens ?? 0) <= (window ?? Number.POSITIVE_INFINITY) ? maxOutputTokens : undefined;
  return {
    ...prices,
    ...(window === undefined ? {} : { contextWindow: window }),
    ...(output === undefined ? {} : { maxOutputTokens: output }),
    ...(modalities === undefined || modalities.input.length + modalities.output.length === 0 ? {} : { modalities }),
    ...(cutoff === undefined || !isCutoff(cutoff) ? {} : { knowledgeCutoff: cutoff }),
  };
}

/** The given fields, and the others of the fallback as far as they fit. */
function fillIn(given: Capabilities, fallback: Capabilities): Capabilities {
  const { contextWindow = Number.POSITIVE_INFINITY, maxOutputTokens = 0 } = { ...fallback, ...given };
  if (maxOutputTokens <= contextWindow) return { ...fallback, ...given };
  const { contextWindow: _window, maxOutputTokens: _output, ...rest } = fallback;
  return { ...rest, ...given };
}

/** Field by field: what the spec says, else what the provider said, else what the table has. */
export function modelCapabilities(spec: ModelSpec, discovered: Capabilities = {}): ModelCapabilities {
  const { id: _id, provider: _provider, model, ...explicit } = spec;
  const trusted = fillIn(plausible(explicit), plausible(discovered));
  return { trusted, known: fillIn(trusted, tableCapabilities(model) ?? {}) };
}

type Limit = "contextWindow" | "maxOutputTokens";

function smallest(members: readonly Capabilities[], field: Limit): { readonly [key in Limit]?: number } {
  const values = members.map((member) => member[field]);
  return values.every((value) => value !== undefined) && values.length > 0 ? { [field]: Math.min(...values) } : {};
}

function shared(members: readonly Capabilities[]): Capabilities {
  const cutoffs = new Set(members.map(({ knowledgeCutoff }) => knowledgeCutoff));
  const [cutoff] = cutoffs;
  const knowledge = cutoffs.size === 1 && cutoff !== undefined ? { knowledgeCutoff: cutoff } : {};
  return { ...smallest(members, "contextWindow"), ...smallest(members, "maxOutputTokens"), ...knowledge };
}

/** What holds whichever member serves: limits that all have, and a cutoff that all share. Modalities and prices are no pool's. */
export function poolCapabilities(members: readonly ModelCapabilities[]): ModelCapabilities {
  return { known: shared(members.map(({ known }) => known)), trusted: shared(members.map(({ trusted }) => trusted)) };
}
