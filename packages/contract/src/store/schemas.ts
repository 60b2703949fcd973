import * as s from "../schema/all.ts";
import { idOf } from "../stored-values.ts";

// Pieces of messages and of the other records in this folder. Objects are strict: an unknown field of the same version is a corrupt row.

export const messageIdSchema = idOf("message");

export const nonBlankSchema = s.text("expected a non-blank string");
export const countSchema = s.int().check(s.atLeast(0));
