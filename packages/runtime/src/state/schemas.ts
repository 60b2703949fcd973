/*
 * The schemas of values that most runs have none of, what becomes of stored values that are not as their key has them today, and the care that
 * values of others need. Loaded in one piece, behind the door of `late-schema.ts`.
 */
export {
  backgroundTasksSchema,
  compactionOrderSchema,
  compactionStateSchema,
  contextMessageSchema,
  contextMessagesSchema,
  contextThrottleSchema,
  decidedSchema,
  excludeToolSchema,
  failedActionsSchema,
  failedMessagesSchema,
  includeOnlyToolsSchema,
  inferenceOverrideSchema,
  inferenceOverrideStateSchema,
  messageOutboxSchema,
  queuedActionsSchema,
  runLifecycleSchema,
  stopStatsSchema,
  toolCallStatesSchema,
  toolFilterSchema,
} from "@awaken/contract";
export { checkValue } from "./check-value.ts";
export { decodeValue } from "./decode-value.ts";
export { KeptKeys } from "./kept.ts";
export { sealMade } from "./seal.ts";
