import { RUN_SCHEMA_VERSION, type RunProjection, type RunRecord } from "../run.ts";
import type { Ticket } from "../suspension.ts";
import { WAITING_REASONS } from "../termination.ts";
import {
  areUnique,
  is,
  isCount,
  isJsonValue,
  isObject,
  isPosition,
  isString,
  isText,
  isTime,
  listOf,
  oneOf,
  refined,
  shape,
  tagged,
} from "./shape.ts";
import {
  isDecision,
  isFinalTermination,
  isInferenceOverride,
  isPersistedState,
  isRange,
  isTicket,
  isToolDescriptor,
  isTrace,
  isUsage,
} from "./shapes.ts";

// The twin of `run-schema.ts`.

const activation = shape(
  {
    intent: tagged("type", {
      "new-intent": shape({ type: isString }),
      "hitl-resume": shape({ type: isString, runId: isText }),
      "continuation-from-run": shape({ type: isString, runId: isText }),
    }),
    options: shape({ frontendTools: listOf(isToolDescriptor) }, { overrides: isInferenceOverride, output: isObject }),
    trace: isTrace,
    seededDecisions: listOf(shape({ ticketId: isText, decision: isDecision })),
  },
  { resolutionId: isText },
);

const waiting = shape(
  {
    reason: oneOf(WAITING_REASONS),
    tickets: refined(listOf(isTicket), (tickets: readonly Ticket[]) => areUnique(tickets, (ticket) => ticket.id)),
  },
  { sinceDispatchId: isText, message: isString },
);

const outcome = shape({ termination: isFinalTermination, response: isString }, { output: isJsonValue });

const required = {
  schemaVersion: is(RUN_SCHEMA_VERSION),
  runId: isText,
  threadId: isText,
  agentId: isText,
  activation,
  input: shape({ triggerMessageIds: listOf(isText), selectedMessageIds: listOf(isText) }, { range: isRange }),
  createdAt: isTime,
  updatedAt: isTime,
  steps: isCount,
  usage: isUsage,
  decided: listOf(shape({ ticketId: isText, decisionId: isText })),
  status: isString,
};
const optional = { output: isRange, dispatchId: isText, sessionId: isString, state: isPersistedState, ordinal: isPosition };

const run = tagged("status", {
  created: shape(required, optional),
  running: shape({ ...required, startedAt: isTime }, optional),
  waiting: shape({ ...required, startedAt: isTime, waiting }, optional),
  done: shape({ ...required, finishedAt: isTime, outcome }, { ...optional, startedAt: isTime }),
});

export const isRunProjection = (value: unknown, depth: number): value is RunProjection => run(value, depth);

export const isRunRecord = (value: unknown, depth: number): value is RunRecord => isRunProjection(value, depth) && "ordinal" in value;
