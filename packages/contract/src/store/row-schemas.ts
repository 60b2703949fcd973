import * as s from "../schema/all.ts";
import { idOf } from "../stored.ts";

// Pieces of records, beside those that plain messages have. Those stand apart: without a store no record is read.

export { countSchema, messageIdSchema, nonBlankSchema } from "./schemas.ts";

export const dispatchIdSchema = idOf("dispatch");

export const positionSchema = s.int().check(s.positive());
/** Unix milliseconds. */
export const timeSchema = s.number().check(s.atLeast(0));

/** Rows of a log by seq: 1-based, inclusive, not empty. */
export const rangeSchema = s
  .strictObject({ fromSeq: positionSchema, toSeq: positionSchema })
  .check(s.refine((range) => range.fromSeq <= range.toSeq, "fromSeq must not be after toSeq"));
