import type { ContextMessage, InferenceOverride } from "@awaken/contract";
import type { ContextMessages } from "./context-messages.ts";
import type { StepOverrides } from "./inference-overrides.ts";
import type { ToolFilter } from "./tool-filter.ts";

// What the keys of the prompt are updated with.

export const exclude =
  (tools: readonly string[]) =>
  (value: ToolFilter): ToolFilter => ({ ...value, excluded: [...new Set([...value.excluded, ...tools])] });

export const includeOnly =
  (tools: readonly string[]) =>
  (value: ToolFilter): ToolFilter => ({ ...value, includeOnly: [...value.includeOnly, tools] });

export const override =
  (more: InferenceOverride) =>
  ({ overrides }: StepOverrides): StepOverrides => ({ overrides: { ...overrides, ...more } });

export const put =
  (message: ContextMessage) =>
  ({ messages }: ContextMessages): ContextMessages => ({ messages: { ...messages, [message.key]: message } });

export const remove =
  (keys: readonly string[]) =>
  ({ messages }: ContextMessages): ContextMessages => {
    const gone = new Set(keys);
    return { messages: Object.fromEntries(Object.entries(messages).filter(([key]) => !gone.has(key))) };
  };
