import * as z from "zod";
import type { JsonValue } from "../json.ts";
import { Secret } from "../secret.ts";
import { NON_BLANK, problem } from "./describe-issues.ts";

// The pieces that several specs are made of.

export const nonBlank = z.string().regex(NON_BLANK);
/** What a spec is looked up by. The one name that an object cannot have as a key is refused. */
export const specId = nonBlank.refine((id) => id !== "__proto__", { params: { problem: "is a reserved name" } });
export const count = z.int().nonnegative();
export const positive = z.int().positive();

export const jsonValue: z.ZodType<JsonValue, JsonValue> = z.json();
export const jsonMap = z.record(z.string(), jsonValue);

/** The mask is what a reader was shown, so writing it back would destroy the real value. */
export const isMask = (text: string): boolean => text.trim() === Secret.MASK;
export const MASKED = "cannot be a redacted placeholder";

/** Given as text; the parse functions also take a `Secret` and hand the schema its text. */
export const secret: z.ZodType<Secret, string | Secret> = z
  .string()
  .superRefine((text, ctx) => {
    if (isMask(text)) ctx.addIssue(problem(MASKED));
  })
  .transform((text) => new Secret(text));
