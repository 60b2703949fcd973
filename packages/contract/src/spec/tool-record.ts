import * as z from "zod";
import { jsonMap, nonBlank, specId } from "./fields.ts";
import type { Immutable, SpecInput } from "./immutable.ts";
import { parseSpec } from "./parse.ts";

/** A tool as the catalogue shows it. It says nothing about how the tool runs. */
export const toolRecordSchema = z.strictObject({
  id: specId,
  name: nonBlank,
  description: z.string(),
  category: nonBlank.exactOptional(),
  /** JSON Schema of the input. */
  parameters: jsonMap,
});

export interface ToolRecord extends Immutable<z.output<typeof toolRecordSchema>> {}
export type ToolRecordInput = SpecInput<z.input<typeof toolRecordSchema>>;

export const parseToolRecord = (id: string, input: unknown): ToolRecord => parseSpec("tool", id, toolRecordSchema, input);
