import type { InferenceOverride, InferenceRequest, JsonObject, Message, RoutingKey, ToolDescriptor } from "@awaken/contract";
import type { LocalAgentSpec } from "@awaken/contract/spec";
import type { Command } from "../phase/command.ts";
import type { Transform } from "../plugin/registrar.ts";
import type { StateReader } from "../state/snapshot.ts";
import type { Ids } from "../stream/ids.ts";
import type { MadeMessages } from "./made-messages.ts";
import { openWithUser } from "./opening.ts";

/** The run that a prompt is for. */
export interface PromptedRun {
  readonly ids: Ids;
  /** Made for the first step that shows what is none. */
  madeMessages: MadeMessages | undefined;
}

export interface PromptInput {
  readonly agent: LocalAgentSpec;
  /** The name that the provider knows the model by. */
  readonly model: string;
  /** All tools of the agent, sorted by id; the same array for as long as they do not change. */
  readonly tools: readonly ToolDescriptor[];
  /** Of all of them, in this order. */
  readonly toolIds: readonly string[];
  /** What a model may see: no retraction markers, every call answered. */
  readonly messages: readonly Message[];
  readonly state: StateReader;
  readonly transforms: readonly Transform[];
  readonly runOverrides: InferenceOverride | undefined;
  readonly frontendContext?: JsonObject | undefined;
  readonly canOverrideModel: boolean;
  /** The most that the model can answer, when known. */
  readonly maxOutputTokens: number | undefined;
  readonly routing: RoutingKey;
  readonly responseFormat: InferenceRequest["responseFormat"];
  readonly run: PromptedRun;
}

export interface Prompt {
  readonly request: InferenceRequest;
  readonly offeredTools: readonly string[];
  /** Clears the step's filters and overrides and consumes one-shot context messages; undefined when there is nothing to clear. */
  readonly cleanup: Command | undefined;
}

/** Also for requests that continue a cut-off answer: their messages have grown since the prompt was made. The user speaks first. */
export function applyTransforms(
  messages: readonly Message[],
  tools: readonly ToolDescriptor[],
  transforms: readonly Transform[],
): readonly Message[] {
  let list = messages;
  for (const transform of transforms) list = transform(list, tools);
  return openWithUser(list);
}

type Shown = Pick<PromptInput, "model" | "messages" | "tools">;

export function requestOf(
  { agent, transforms, routing, responseFormat }: PromptInput,
  { model, messages, tools }: Shown,
  overrides: InferenceRequest["overrides"],
): InferenceRequest {
  return {
    model,
    system: agent.instructions,
    messages: applyTransforms(messages, tools, transforms),
    tools,
    promptCache: agent.contextPolicy?.enablePromptCache ?? false,
    routing,
    ...(overrides === undefined ? undefined : { overrides }),
    ...(responseFormat === undefined ? undefined : { responseFormat }),
  };
}
