import { closedTicketSchema, decidedTicketSchema } from "../builtin-state.ts";
import { isJsonObject, type JsonObject } from "../json.ts";
import {
  RUN_SCHEMA_VERSION,
  type RunActivation,
  type RunEnding,
  type RunProjection,
  type RunRecord,
  type RunTrace,
  type RunWaiting,
} from "../run.ts";
import * as s from "../schema/all.ts";
import type { Schema } from "../schema.ts";
import { inferenceOverrideSchema } from "../sections.ts";
import { jsonObjectSchema, jsonValueSchema, runIdSchema, threadIdSchema, toolCallIdSchema, waitingReasonSchema } from "../stored.ts";
import type { AgentUsage } from "../usage.ts";
import { finalTerminationSchema } from "./final-termination.ts";
import { defineRecord } from "./record.ts";
import {
  adapterSchema,
  modelUsageSchema,
  originSchema,
  persistedStateSchema,
  runModeSchema,
  runPlaceSchema,
  ticketSchema,
  toolDescriptorSchema,
  usageSchema,
} from "./record-pieces.ts";
import { countSchema, dispatchIdSchema, messageIdSchema, nonBlankSchema, positionSchema, rangeSchema, timeSchema } from "./row-schemas.ts";
import { areUnique } from "./unique.ts";

const traceSchema = s.strictObject({
  origin: originSchema,
  runMode: runModeSchema,
  adapter: adapterSchema,
  parentThreadId: s.exactOptional(threadIdSchema),
  parentToolCallId: s.exactOptional(toolCallIdSchema),
  agentPath: s.exactOptional(s.array(s.string())),
  ancestors: s.exactOptional(s.array(runPlaceSchema)),
  taskId: s.exactOptional(s.string()),
  transportRequestId: s.exactOptional(s.string()),
  correlationId: s.exactOptional(s.string()),
}) satisfies Schema<RunTrace>;

const activationSchema = s.strictObject({
  intent: s.taggedUnion("type", [
    s.strictObject({ type: s.literal("new-intent") }),
    s.strictObject({ type: s.literal("hitl-resume"), runId: runIdSchema }),
    s.strictObject({ type: s.literal("continuation-from-run"), runId: runIdSchema }),
  ]),
  options: s.strictObject({
    overrides: s.exactOptional(inferenceOverrideSchema),
    frontendTools: s.array(toolDescriptorSchema),
    frontendContext: s.exactOptional(jsonObjectSchema),
    extras: s.exactOptional(jsonObjectSchema),
    output: s.exactOptional(jsonObjectSchema),
    outputRetries: s.exactOptional(s.int()),
  }),
  trace: traceSchema,
  resolutionId: s.exactOptional(nonBlankSchema),
}) satisfies Schema<RunActivation>;

const ticketsSchema = s
  .array(ticketSchema)
  .check(s.refine((tickets) => areUnique(tickets, (ticket) => ticket.id), "ticket ids must be unique"));

const waitingSchema = s.strictObject({
  reason: waitingReasonSchema,
  tickets: ticketsSchema,
  sinceDispatchId: s.exactOptional(dispatchIdSchema),
  message: s.exactOptional(s.string()),
}) satisfies Schema<RunWaiting>;

const endingSchema = s.strictObject({
  termination: finalTerminationSchema,
  response: s.string(),
  output: s.exactOptional(jsonValueSchema),
}) satisfies Schema<RunEnding>;

export const agentUsageSchema = s.strictObject({
  agentPath: s.array(s.string()),
  runs: countSchema,
  usage: usageSchema,
}) satisfies Schema<AgentUsage>;

const body = {
  schemaVersion: s.literal(RUN_SCHEMA_VERSION),
  runId: runIdSchema,
  threadId: threadIdSchema,
  agentId: nonBlankSchema,
  parentRunId: s.exactOptional(runIdSchema),
  rootRunId: s.exactOptional(runIdSchema),
  principal: s.exactOptional(jsonObjectSchema),
  traceParent: s.exactOptional(s.string()),
  activation: activationSchema,
  input: s.strictObject({
    range: s.exactOptional(rangeSchema),
    triggerMessageIds: s.array(messageIdSchema),
    selectedMessageIds: s.array(messageIdSchema),
  }),
  output: s.exactOptional(rangeSchema),
  dispatchId: s.exactOptional(dispatchIdSchema),
  sessionId: s.exactOptional(s.string()),
  createdAt: timeSchema,
  updatedAt: timeSchema,
  steps: countSchema,
  usage: usageSchema,
  usageByModel: s.exactOptional(s.array(modelUsageSchema)),
  usageBelow: s.exactOptional(s.array(agentUsageSchema)),
  answerId: s.exactOptional(messageIdSchema),
  state: s.exactOptional(persistedStateSchema),
  decided: s.array(decidedTicketSchema),
  closed: s.exactOptional(s.array(closedTicketSchema)),
  ordinal: s.exactOptional(positionSchema),
};

export const projectionSchema = s.taggedUnion("status", [
  s.strictObject({ ...body, status: s.literal("created") }),
  s.strictObject({ ...body, status: s.literal("running"), startedAt: timeSchema, tickets: s.exactOptional(ticketsSchema) }),
  s.strictObject({ ...body, status: s.literal("waiting"), startedAt: timeSchema, waiting: waitingSchema }),
  s.strictObject({
    ...body,
    status: s.literal("done"),
    startedAt: s.exactOptional(timeSchema),
    finishedAt: timeSchema,
    outcome: endingSchema,
  }),
]);

/** In version 1 the trace had the parent, and a list of decisions that was always empty stood beside it. */
function migrateActivation(run: JsonObject): JsonObject {
  const { activation } = run;
  if (!isJsonObject(activation) || !isJsonObject(activation["trace"])) return run;
  const { seededDecisions: _, trace, ...rest } = activation;
  const { parentRunId, ...kept } = trace;
  const parent = parentRunId === undefined ? undefined : { parentRunId };
  return { ...parent, ...run, activation: { ...rest, trace: kept } };
}

/** What a commit may carry. An `ordinal` that came from a store is let through; the store keeps its own. */
export const runProjection = defineRecord<RunProjection>({
  name: "run",
  version: RUN_SCHEMA_VERSION,
  schema: projectionSchema,
  accepts: s.guardOf<RunProjection>(projectionSchema),
});

const hasOrdinal = (run: RunProjection & { readonly ordinal?: number }): run is RunRecord => run.ordinal !== undefined;

export const storedSchema = s.narrow<RunProjection, unknown, RunRecord>(projectionSchema, hasOrdinal, "a stored run has an ordinal");

/** What a store keeps and reads back. */
export const runRecord = defineRecord<RunRecord>({
  name: "run",
  version: RUN_SCHEMA_VERSION,
  schema: storedSchema,
  accepts: s.guardOf<RunRecord>(storedSchema),
  migrations: { 1: migrateActivation },
});
