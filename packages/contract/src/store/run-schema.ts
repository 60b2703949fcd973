import * as z from "zod";
import { inferenceOverrideSchema } from "../builtin-state.ts";
import {
  RUN_SCHEMA_VERSION,
  type RunActivation,
  type RunEnding,
  type RunProjection,
  type RunRecord,
  type RunTrace,
  type RunWaiting,
} from "../run.ts";
import type { Schema } from "../schema.ts";
import {
  decisionIdSchema,
  decisionSchema,
  jsonObjectSchema,
  jsonValueSchema,
  runIdSchema,
  threadIdSchema,
  ticketIdSchema,
  toolCallIdSchema,
  waitingReasonSchema,
} from "../stored.ts";
import { defineRecord } from "./record.ts";
import { isRunProjection, isRunRecord } from "./run-shape.ts";
import {
  adapterSchema,
  countSchema,
  dispatchIdSchema,
  finalTerminationSchema,
  messageIdSchema,
  nonBlankSchema,
  originSchema,
  persistedStateSchema,
  positionSchema,
  rangeSchema,
  runModeSchema,
  ticketSchema,
  timeSchema,
  toolDescriptorSchema,
  usageSchema,
} from "./schemas.ts";

const traceSchema = z.strictObject({
  origin: originSchema,
  runMode: runModeSchema,
  adapter: adapterSchema,
  parentThreadId: threadIdSchema.exactOptional(),
  parentRunId: runIdSchema.exactOptional(),
  parentToolCallId: toolCallIdSchema.exactOptional(),
  transportRequestId: z.string().exactOptional(),
  correlationId: z.string().exactOptional(),
}) satisfies Schema<RunTrace>;

const activationSchema = z.strictObject({
  intent: z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("new-intent") }),
    z.strictObject({ type: z.literal("hitl-resume"), runId: runIdSchema }),
    z.strictObject({ type: z.literal("continuation-from-run"), runId: runIdSchema }),
  ]),
  options: z.strictObject({
    overrides: inferenceOverrideSchema.exactOptional(),
    frontendTools: z.array(toolDescriptorSchema),
    output: jsonObjectSchema.exactOptional(),
  }),
  trace: traceSchema,
  seededDecisions: z.array(z.strictObject({ ticketId: ticketIdSchema, decision: decisionSchema })),
  resolutionId: nonBlankSchema.exactOptional(),
}) satisfies Schema<RunActivation>;

const waitingSchema = z.strictObject({
  reason: waitingReasonSchema,
  tickets: z
    .array(ticketSchema)
    .refine((tickets) => new Set(tickets.map((t) => t.id)).size === tickets.length, "ticket ids must be unique"),
  sinceDispatchId: dispatchIdSchema.exactOptional(),
  message: z.string().exactOptional(),
}) satisfies Schema<RunWaiting>;

const endingSchema = z.strictObject({
  termination: finalTerminationSchema,
  response: z.string(),
  output: jsonValueSchema.exactOptional(),
}) satisfies Schema<RunEnding>;

const body = {
  schemaVersion: z.literal(RUN_SCHEMA_VERSION),
  runId: runIdSchema,
  threadId: threadIdSchema,
  agentId: nonBlankSchema,
  activation: activationSchema,
  input: z.strictObject({
    range: rangeSchema.exactOptional(),
    triggerMessageIds: z.array(messageIdSchema),
    selectedMessageIds: z.array(messageIdSchema),
  }),
  output: rangeSchema.exactOptional(),
  dispatchId: dispatchIdSchema.exactOptional(),
  sessionId: z.string().exactOptional(),
  createdAt: timeSchema,
  updatedAt: timeSchema,
  steps: countSchema,
  usage: usageSchema,
  state: persistedStateSchema.exactOptional(),
  decided: z.array(z.strictObject({ ticketId: ticketIdSchema, decisionId: decisionIdSchema })),
  ordinal: positionSchema.exactOptional(),
};

const projectionSchema = z.discriminatedUnion("status", [
  z.strictObject({ ...body, status: z.literal("created") }),
  z.strictObject({ ...body, status: z.literal("running"), startedAt: timeSchema }),
  z.strictObject({ ...body, status: z.literal("waiting"), startedAt: timeSchema, waiting: waitingSchema }),
  z.strictObject({
    ...body,
    status: z.literal("done"),
    startedAt: timeSchema.exactOptional(),
    finishedAt: timeSchema,
    outcome: endingSchema,
  }),
]);

/** What a commit may carry. An `ordinal` that came from a store is let through; the store keeps its own. */
export const runProjection = defineRecord<RunProjection>({
  name: "run",
  version: RUN_SCHEMA_VERSION,
  schema: projectionSchema,
  accepts: isRunProjection,
});

const hasOrdinal = (run: RunProjection & { readonly ordinal?: number }): run is RunRecord => run.ordinal !== undefined;

/** What a store keeps and reads back. */
export const runRecord = defineRecord<RunRecord>({
  name: "run",
  version: RUN_SCHEMA_VERSION,
  schema: projectionSchema.refine(hasOrdinal, "a stored run has an ordinal"),
  accepts: isRunRecord,
});
