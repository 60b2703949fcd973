import * as z from "zod";
import type { Usage } from "../usage.ts";
import { describeType } from "./describe-issues.ts";
import { nonBlank, positive, specId } from "./fields.ts";
import type { Immutable, SpecInput } from "./immutable.ts";
import { checkSchema, parseSpec, readObject, refuseSpec } from "./parse.ts";

export const MODALITIES = ["text", "image", "audio", "video", "pdf"] as const;
export type Modality = (typeof MODALITIES)[number];

const MAX_TOKENS = 0xffff_ffff;
const PRICE_UNIT = 1_000_000;

const tokens = positive.max(MAX_TOKENS);

/** Empty means "not known", which permits everything. */
const modalities = (direction: "input" | "output") =>
  z
    .array(z.enum(MODALITIES))
    .superRefine((list, ctx) => {
      const duplicate = list.find((modality, index) => list.indexOf(modality) !== index);
      if (duplicate === undefined) return;
      ctx.addIssue({ code: "custom", message: `'modalities.${direction}' contains duplicate '${duplicate}'` });
    })
    .default([]);

const price = (name: string) => {
  const error = ({ input }: { readonly input?: unknown }): string =>
    `'${name}' must be a finite non-negative number, got ${typeof input === "number" ? input : describeType(input)}`;
  return z.number({ error }).nonnegative({ error });
};

const isRealDate = (text: string): boolean => z.iso.date().safeParse(/^\d{4}-\d{2}$/.test(text) ? `${text}-01` : text).success;

/** Goes into the instructions of the model, so nothing but a date may pass. */
const knowledgeCutoff = z.string().trim().refine(isRealDate, { error: "'knowledgeCutoff' must be a real date, as YYYY-MM or YYYY-MM-DD" });

/** One model of a provider. Two fields are enough: `{ provider: "openai", model: "gpt-5-mini" }`. */
export const modelSpecSchema = z
  .strictObject({
    id: specId,
    provider: nonBlank,
    /** The name that the provider knows it by. */
    model: nonBlank,
    contextWindow: tokens.exactOptional(),
    maxOutputTokens: tokens.exactOptional(),
    modalities: z.strictObject({ input: modalities("input"), output: modalities("output") }).exactOptional(),
    knowledgeCutoff: knowledgeCutoff.exactOptional(),
    inputTokenPricePerMillionUsd: price("inputTokenPricePerMillionUsd").exactOptional(),
    outputTokenPricePerMillionUsd: price("outputTokenPricePerMillionUsd").exactOptional(),
  })
  .superRefine(({ maxOutputTokens: output, contextWindow: context }, ctx) => {
    if (output === undefined || context === undefined || output <= context) return;
    ctx.addIssue({ code: "custom", message: `maxOutputTokens (${output}) must not exceed contextWindow (${context})` });
  });

export interface ModelSpec extends Immutable<z.output<typeof modelSpecSchema>> {}
export type ModelSpecInput = SpecInput<z.input<typeof modelSpecSchema>>;

export const parseModelSpec = (id: string, input: unknown): ModelSpec => parseSpec("model", id, modelSpecSchema, input);

/** Parses specs that carry their ids. The first id that comes twice is named. */
export function parseModelSpecs(inputs: readonly unknown[]): ModelSpec[] {
  const seen = new Set<string>();
  return inputs.map((input) => {
    const members = readObject({ kind: "model" }, input);
    const { id } = members;
    const place = typeof id === "string" ? { kind: "model", id } : { kind: "model" };
    const spec = checkSchema(place, modelSpecSchema, members);
    if (seen.has(spec.id)) refuseSpec(place, `duplicate model id '${spec.id}'`);
    seen.add(spec.id);
    return spec;
  });
}

/** What an inference cost, known only when both prices are. */
export function modelCostUsd(spec: ModelSpec, usage: Pick<Usage, "inputTokens" | "outputTokens">): number | undefined {
  const { inputTokenPricePerMillionUsd: input, outputTokenPricePerMillionUsd: output } = spec;
  if (input === undefined || output === undefined) return undefined;
  return (usage.inputTokens * input) / PRICE_UNIT + (usage.outputTokens * output) / PRICE_UNIT;
}
