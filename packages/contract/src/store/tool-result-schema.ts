import type { MediaContent } from "../content.ts";
import * as s from "../schema/all.ts";
import type { Schema } from "../schema.ts";
import { jsonObjectSchema, jsonValueSchema, resumeModeSchema, ticketIdSchema } from "../stored.ts";
import type { Suspension } from "../suspension.ts";
import type { ToolResult } from "../tool.ts";
import { mediaSchemas } from "./content-schema.ts";
import { timeSchema } from "./row-schemas.ts";

export const mediaListSchema = s.array(s.taggedUnion("type", mediaSchemas));
export const isMediaList = (value: unknown): value is readonly MediaContent[] => mediaListSchema.fits(value, 0);

const suspensionSchema = s.strictObject({
  id: s.exactOptional(ticketIdSchema),
  action: s.string(),
  message: s.exactOptional(s.string()),
  parameters: s.exactOptional(jsonValueSchema),
  responseSchema: s.exactOptional(jsonObjectSchema),
  resumeMode: s.exactOptional(resumeModeSchema),
  canEdit: s.exactOptional(s.boolean()),
  expiresAt: s.exactOptional(timeSchema),
}) satisfies Schema<Suspension>;

const resultBase = { message: s.exactOptional(s.string()), metadata: s.exactOptional(jsonObjectSchema) };

const successSchema = s.strictObject({
  ...resultBase,
  type: s.literal("success"),
  data: jsonValueSchema,
  media: s.exactOptional(mediaListSchema),
});
const failureSchema = s.strictObject({
  ...resultBase,
  type: s.literal("error"),
  code: s.string(),
  message: s.string(),
  data: s.exactOptional(jsonValueSchema),
});
export const pendingResultSchema = s.strictObject({ ...resultBase, type: s.literal("pending"), suspension: suspensionSchema });
export const finalResultSchema = s.taggedUnion("type", [successSchema, failureSchema]);

export const toolResultSchema = s.taggedUnion("type", [successSchema, failureSchema, pendingResultSchema]) satisfies Schema<ToolResult>;
