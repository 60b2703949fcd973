import { type JsonValue, jsonValueSchema } from "@awaken/contract";
import { defineRuntimeState } from "./key.ts";

/** What a backend keeps between two turns of a thread. Only the backend knows what it means. */
export const remoteBackend = defineRuntimeState("remote_backend", {
  scope: "thread",
  schema: jsonValueSchema,
  initial: (): JsonValue => null,
  apply: (_value, next: JsonValue): JsonValue => next,
});

/** What a backend gave beside the text of its answer. */
export const backendOutput = defineRuntimeState("backend_output", {
  schema: jsonValueSchema,
  initial: (): JsonValue => null,
  apply: (_value, next: JsonValue): JsonValue => next,
});
