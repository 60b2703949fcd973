import * as s from "../schema/all.ts";
import { idOf } from "../stored.ts";

// Pieces of messages and of the other records in this folder. Objects are strict: an unknown field of the same version is a corrupt row.

export const messageIdSchema = idOf("message");
export const dispatchIdSchema = idOf("dispatch");

export const nonBlankSchema = s.text("expected a non-blank string");
export const countSchema = s.int().check(s.atLeast(0));
export const positionSchema = s.int().check(s.positive());
/** Unix milliseconds. */
export const timeSchema = s.number().check(s.atLeast(0));

/** Rows of a log by seq: 1-based, inclusive, not empty. */
export const rangeSchema = s
  .strictObject({ fromSeq: positionSchema, toSeq: positionSchema })
  .check(s.refine((range) => range.fromSeq <= range.toSeq, "fromSeq must not be after toSeq"));
