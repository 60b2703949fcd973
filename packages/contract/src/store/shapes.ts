import { ADAPTERS, ORIGINS, RUN_MODES } from "../identity.ts";
import { type PersistedState, STATE_SCHEMA_VERSION } from "../state.ts";
import { RESUME_MODES } from "../suspension.ts";
import {
  is,
  isCount,
  isJsonValue,
  isNumber,
  isObject,
  isPosition,
  isString,
  isText,
  isTime,
  listOf,
  mapOf,
  oneOf,
  refined,
  shape,
  tagged,
} from "./shape.ts";

// The twins of `schemas.ts` and of what it takes from `stored.ts`.

export const isRange = refined(
  shape({ fromSeq: isPosition, toSeq: isPosition }),
  (range: { readonly fromSeq: number; readonly toSeq: number }) => range.fromSeq <= range.toSeq,
);

export const isTrace = shape(
  { origin: oneOf(ORIGINS), runMode: oneOf(RUN_MODES), adapter: oneOf(ADAPTERS) },
  { parentThreadId: isText, parentRunId: isText, parentToolCallId: isText, transportRequestId: isString, correlationId: isString },
);

export const isUsage = shape(
  { inputTokens: isCount, outputTokens: isCount, totalTokens: isCount },
  { cacheReadTokens: isCount, cacheWriteTokens: isCount, reasoningTokens: isCount },
);

const state = shape({ schemaVersion: is(STATE_SCHEMA_VERSION), revision: isCount, extensions: isObject }, { versions: mapOf(isPosition) });
export const isPersistedState = (value: unknown, depth: number): value is PersistedState => state(value, depth);

export const isFinalTermination = tagged("type", {
  "natural-end": shape({ type: isString }),
  "behavior-requested": shape({ type: isString }),
  stopped: shape({ type: isString, code: isString }, { detail: isString }),
  cancelled: shape({ type: isString }),
  blocked: shape({ type: isString, reason: isString }),
  error: shape({ type: isString, message: isString }, { code: isString }),
});

const decided = { id: isText, action: isString, decidedAt: isNumber };
export const isDecision = tagged("action", {
  approve: shape(decided, { by: isString, input: isJsonValue }),
  deny: shape(decided, { by: isString, reason: isString }),
  answer: shape({ ...decided, result: isJsonValue }, { by: isString }),
});

export const isSuspension = shape(
  { action: isString },
  { id: isText, message: isString, parameters: isJsonValue, responseSchema: isObject, resumeMode: oneOf(RESUME_MODES) },
);

export const isTicket = shape(
  {
    id: isText,
    runId: isText,
    threadId: isText,
    toolCallId: isText,
    toolName: isText,
    input: isJsonValue,
    action: isString,
    resumeMode: oneOf(RESUME_MODES),
    updatedAt: isTime,
  },
  { message: isString, parameters: isJsonValue, responseSchema: isObject, agentPath: listOf(isString) },
);

export const isToolDescriptor = shape(
  { id: isText, description: isString, parameters: isObject },
  { category: isString, metadata: isObject },
);

const effort = oneOf(["none", "low", "medium", "high", "max"]);
const budget = shape({ budget: isPosition });

export const isInferenceOverride = shape(
  {},
  {
    upstreamModel: isText,
    temperature: isNumber,
    maxTokens: isPosition,
    topP: isNumber,
    reasoningEffort: (value, depth) => effort(value, depth) || budget(value, depth),
  },
);
