import { callFields } from "./lifecycle.ts";
import type { ToolCallStates } from "./lifecycle-schema.ts";
import * as s from "./schema/all.ts";

const overCallsSchema: s.Type<ToolCallStates, unknown> = s.object({
  calls: s.readonly(s.array(s.object({ ...callFields, status: s.enum(["succeeded", "failed", "cancelled"]) }))),
});

/** Calls that are over, with nothing left of what they waited for. */
export const areOverCalls = (value: unknown): value is ToolCallStates => overCallsSchema.fits(value, 0);
