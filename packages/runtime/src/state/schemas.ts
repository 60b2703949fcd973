/*
 * The schemas of values that most runs have none of, and what becomes of stored values that are not as their key has them today. Loaded in one piece, behind the
 * door of `late-schema.ts`.
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
  failedMessagesSchema,
  includeOnlyToolsSchema,
  messageOutboxSchema,
  runLifecycleSchema,
  stopStatsSchema,
  toolCallStatesSchema,
  toolFilterSchema,
} from "@awaken/contract";
export { decodeValue } from "./decode-value.ts";
