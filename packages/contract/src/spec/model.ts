import * as s from "../schema/all.ts";
import type { Usage } from "../usage.ts";
import { nonBlank, positive, specId } from "./fields.ts";
import type { Immutable, SpecInput } from "./immutable.ts";
import { parseSpec } from "./parse.ts";

export const MODALITIES = ["text", "image", "audio", "video", "pdf"] as const;
export type Modality = (typeof MODALITIES)[number];

const MAX_TOKENS = 0xffff_ffff;
const PRICE_UNIT = 1_000_000;

const tokens = positive.check(s.atMost(MAX_TOKENS));

/** Empty means "not known", which permits everything. */
const modalities = (direction: "input" | "output") =>
  s.withDefault(
    s.array(s.enum(MODALITIES)).check(
      s.rule((list, report) => {
        const duplicate = list.find((modality, index) => list.indexOf(modality) !== index);
        if (duplicate === undefined) return;
        report(s.message(`'modalities.${direction}' contains duplicate '${duplicate}'`));
      }),
    ),
    [],
  );

const price = (name: string) =>
  s.custom<number>(
    (value) => Number.isFinite(value) && Number(value) >= 0,
    (value) =>
      s.message(`'${name}' must be a finite non-negative number, got ${typeof value === "number" ? value : s.describeType(value)}`),
    { type: "number", minimum: 0 },
  );

/** As YYYY-MM or YYYY-MM-DD. */
export function isRealDate(text: string): boolean {
  if (!/^\d{4}-\d{2}(-\d{2})?$/.test(text)) return false;
  const time = Date.parse(text);
  return Number.isFinite(time) && new Date(time).toISOString().startsWith(text);
}

/** Goes into the instructions of the model, so nothing but a date may pass. */
const knowledgeCutoff = s.string().check(s.trim(), s.refine(isRealDate, "'knowledgeCutoff' must be a real date, as YYYY-MM or YYYY-MM-DD"));

/** One model of a provider. Two fields are enough: `{ provider: "openai", model: "gpt-5-mini" }`. */
export const modelSpecSchema = s
  .strictObject({
    /** The name that agents and pools use. */
    id: specId,
    /** The id of the provider that is asked for it. */
    provider: nonBlank,
    /** The name that the provider knows it by. */
    model: nonBlank,
    /** How many tokens request and answer may have together. Known, it bounds every request. */
    contextWindow: s.exactOptional(tokens),
    /** The longest answer that the model gives, in tokens. */
    maxOutputTokens: s.exactOptional(tokens),

    /** What it reads and writes beside text. */
    modalities: s.exactOptional(
      s.strictObject({
        /** What it can be sent. */
        input: modalities("input"),
        /** What it can answer with. */
        output: modalities("output"),
      }),
    ),
    /** YYYY-MM or YYYY-MM-DD; the model is told it. */
    knowledgeCutoff: s.exactOptional(knowledgeCutoff),
    /** What a million tokens cost that are sent, in US dollars. */
    inputTokenPricePerMillionUsd: s.exactOptional(price("inputTokenPricePerMillionUsd")),
    /** What a million tokens cost that are answered, in US dollars. */
    outputTokenPricePerMillionUsd: s.exactOptional(price("outputTokenPricePerMillionUsd")),
  })
  .check(
    s.rule(({ maxOutputTokens: output, contextWindow: context }, report) => {
      if (output === undefined || context === undefined || output <= context) return;
      report(s.message(`maxOutputTokens (${output}) must not exceed contextWindow (${context})`));
    }),
  );

export interface ModelSpec extends Immutable<s.output<typeof modelSpecSchema>> {}
export type ModelSpecInput = SpecInput<s.input<typeof modelSpecSchema>>;

export const parseModelSpec = (id: string, input: unknown): ModelSpec => parseSpec("model", id, modelSpecSchema, input);

/** What an inference cost, known only when both prices are. */
export function modelCostUsd(spec: ModelSpec, usage: Pick<Usage, "inputTokens" | "outputTokens">): number | undefined {
  const { inputTokenPricePerMillionUsd: input, outputTokenPricePerMillionUsd: output } = spec;
  if (input === undefined || output === undefined) return undefined;
  return (usage.inputTokens * input) / PRICE_UNIT + (usage.outputTokens * output) / PRICE_UNIT;
}
