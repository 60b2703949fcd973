import * as s from "../schema/all.ts";
import { jsonMap, nonBlank, specId } from "./fields.ts";
import type { Immutable } from "./immutable.ts";
import { parseSpec } from "./parse.ts";

/** A tool as the catalogue shows it. It says nothing about how the tool runs. */
export const toolRecordSchema = s.strictObject({
  id: specId,
  name: nonBlank,
  description: s.string(),
  category: s.exactOptional(nonBlank),
  /** JSON Schema of the input. */
  parameters: jsonMap,
});

export interface ToolRecord extends Immutable<s.output<typeof toolRecordSchema>> {}

export const parseToolRecord = (id: string, input: unknown): ToolRecord => parseSpec("tool", id, toolRecordSchema, input);
