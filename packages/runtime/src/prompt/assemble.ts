import type {
  ContextMessage,
  InferenceOverride,
  InferenceRequest,
  JsonObject,
  Message,
  RoutingKey,
  ToolDescriptor,
} from "@awaken/contract";
import type { LocalAgentSpec } from "@awaken/contract/spec";
import { type Command, command } from "../phase/command.ts";
import type { Transform } from "../plugin/registrar.ts";
import type { StateReader } from "../state/snapshot.ts";
import { contextMessages, isOneShot, placeContext } from "./context-messages.ts";
import { withFrontendContext } from "./frontend-context.ts";
import { inferenceOverrides, resolveModel, resolveOverrides } from "./inference-overrides.ts";
import type { MadeMessages } from "./made-messages.ts";
import { openWithUser } from "./opening.ts";
import { hidesNothing, offerTools, toolFilter } from "./tool-filter.ts";

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
  /** Of the run. */
  readonly made: MadeMessages;
}

export interface Prompt {
  readonly request: InferenceRequest;
  readonly offeredTools: readonly string[];
  /** Clears the step's filters and overrides and consumes one-shot context messages; undefined when there is nothing to clear. */
  readonly cleanup: Command | undefined;
}

const NO_ENTRIES: readonly ContextMessage[] = Object.freeze([]);
const NO_KEYS: readonly string[] = Object.freeze([]);

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

/**
 * State and messages in, one request out. A step that nobody changed anything for gets the given messages and tools themselves.
 * Throws `invalid_activation` when a pool is asked for a certain model.
 */
export function assemblePrompt(input: PromptInput): Prompt {
  const { agent, state, responseFormat } = input;
  let cleanup: Command | undefined;

  const filter = state.get(toolFilter);
  const isFiltered = filter !== undefined && !hidesNothing(filter);
  if (isFiltered) cleanup = command().update(toolFilter, { type: "clear" });
  const tools = isFiltered ? offerTools(input.tools, filter) : input.tools;

  const step = state.get(inferenceOverrides)?.overrides;
  if (step !== undefined) cleanup = (cleanup ?? command()).update(inferenceOverrides, { type: "clear" });
  const layers = { agent, run: input.runOverrides, step };
  const overrides = resolveOverrides(layers, input.maxOutputTokens);

  const stored = state.get(contextMessages)?.messages;
  const entries = stored === undefined ? NO_ENTRIES : Object.values(stored);
  const seen = entries.length === 0 ? NO_KEYS : entries.filter(isOneShot).map((entry) => entry.key);
  if (seen.length > 0) cleanup = (cleanup ?? command()).update(contextMessages, { type: "remove", keys: seen });
  const { frontendContext, made } = input;
  const messages = frontendContext === undefined ? input.messages : withFrontendContext(input.messages, made.ofPage(frontendContext));
  const placed = entries.length === 0 ? messages : placeContext(messages, entries, made);

  const request: InferenceRequest = {
    model: resolveModel(layers, input.model, input.canOverrideModel),
    system: agent.instructions,
    messages: applyTransforms(placed, tools, input.transforms),
    tools,
    promptCache: agent.contextPolicy?.enablePromptCache ?? false,
    routing: input.routing,
    ...(overrides === undefined ? undefined : { overrides }),
    ...(responseFormat === undefined ? undefined : { responseFormat }),
  };
  return { request, offeredTools: tools === input.tools ? input.toolIds : tools.map(({ id }) => id), cleanup };
}
