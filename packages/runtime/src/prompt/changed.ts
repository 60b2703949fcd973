import {
  AwakenError,
  CONTEXT_TARGETS,
  type ContextMessage,
  type InferenceRequest,
  type Message,
  type ToolDescriptor,
} from "@awaken/contract";
import { command } from "../phase/command.ts";
import { remove } from "./changes.ts";
import { contextMessages } from "./context-messages.ts";
import { inferenceOverrides } from "./inference-overrides.ts";
import { MadeMessages } from "./made-messages.ts";
import { countLeadingSystem } from "./opening.ts";
import { type Prompt, type PromptInput, requestOf } from "./request.ts";
import { type ToolFilter, toolFilter } from "./tool-filter.ts";

const hidesNothing = ({ excluded, includeOnly }: ToolFilter): boolean => excluded.length === 0 && includeOnly.length === 0;

/** The tools that any include-only list names, or all without one; an exclusion always wins. */
function offerTools(tools: readonly ToolDescriptor[], { excluded, includeOnly }: ToolFilter): readonly ToolDescriptor[] {
  const named = includeOnly.length === 0 ? undefined : new Set(includeOnly.flat());
  const hidden = new Set(excluded);
  return tools.filter(({ id }) => !hidden.has(id) && (named === undefined || named.has(id)));
}

interface OverrideLayers extends Pick<PromptInput, "agent"> {
  readonly run: PromptInput["runOverrides"];
  readonly step: PromptInput["runOverrides"];
}

/** The name of the model to ask. Another one than the resolved can be asked for only where the provider knows it by name. */
function resolveModel({ run, step }: OverrideLayers, model: string, canOverride: boolean): string {
  const wanted = step?.upstreamModel ?? run?.upstreamModel;
  if (wanted === undefined) return model;
  if (canOverride) return wanted;
  throw new AwakenError("invalid_activation", `upstreamModel '${wanted}' cannot be asked of '${model}': a pool chooses its models itself`, {
    details: { upstreamModel: wanted, model },
  });
}

/** Agent, run, step: the nearest wins, field by field. Undefined when nobody sets anything. */
function resolveOverrides({ agent, run, step }: OverrideLayers, maxOutputTokens: number | undefined): InferenceRequest["overrides"] {
  const reasoningEffort = step?.reasoningEffort ?? run?.reasoningEffort ?? agent.reasoningEffort;
  const temperature = step?.temperature ?? run?.temperature;
  const topP = step?.topP ?? run?.topP;
  const asked = step?.maxTokens ?? run?.maxTokens;
  const maxTokens = asked === undefined || maxOutputTokens === undefined ? asked : Math.min(asked, maxOutputTokens);
  const overrides = {
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(topP === undefined ? {} : { topP }),
    ...(reasoningEffort === undefined ? {} : { reasoningEffort }),
  };
  return Object.keys(overrides).length === 0 ? undefined : overrides;
}

/** Shown once, then taken out of the store. */
const isOneShot = (message: ContextMessage): boolean => !message.persistent || message.consumeAfterEmit;

function compare(a: ContextMessage, b: ContextMessage): number {
  const byTarget = CONTEXT_TARGETS.indexOf(a.target) - CONTEXT_TARGETS.indexOf(b.target);
  return byTarget || a.priority - b.priority || (a.key < b.key ? -1 : 1);
}

/** Puts each entry where its target says: before everything, behind the leading system messages, or at the end. */
function placeContext(messages: readonly Message[], entries: readonly ContextMessage[], made: MadeMessages): readonly Message[] {
  if (entries.length === 0) return messages;
  const sorted = entries.toSorted(compare);
  const of = (...targets: readonly ContextMessage["target"][]) =>
    sorted.filter((entry) => targets.includes(entry.target)).map((entry) => made.ofEntry(entry));
  const at = countLeadingSystem(messages);
  return [...of("system"), ...messages.slice(0, at), ...of("session", "conversation"), ...messages.slice(at), ...of("suffix-system")];
}

/** What the page shows, right before what the user said last. */
function withFrontendContext(messages: readonly Message[], shown: Message): readonly Message[] {
  const last = messages.findLastIndex(({ role }) => role === "user");
  return messages.toSpliced(Math.max(last, 0), 0, shown);
}

/** The request of a step with what state, run and page change in it. Throws `invalid_activation` when a pool is asked for a certain model. */
export function assembleChanged(input: PromptInput): Prompt {
  const { agent, state, frontendContext, run } = input;
  const cleanup = command();
  run.madeMessages ??= new MadeMessages(run.ids);
  const made = run.madeMessages;

  const filter = state.get(toolFilter);
  const isFiltered = filter !== undefined && !hidesNothing(filter);
  if (isFiltered) cleanup.update(toolFilter, toolFilter.initial);
  const tools = isFiltered ? offerTools(input.tools, filter) : input.tools;

  const step = state.get(inferenceOverrides)?.overrides;
  if (step !== undefined) cleanup.update(inferenceOverrides, inferenceOverrides.initial);
  const layers = { agent, run: input.runOverrides, step };

  const entries = Object.values(state.get(contextMessages)?.messages ?? {});
  const seen = entries.filter(isOneShot).map((entry) => entry.key);
  if (seen.length > 0) cleanup.update(contextMessages, remove(seen));
  const messages = frontendContext === undefined ? input.messages : withFrontendContext(input.messages, made.ofPage(frontendContext));

  const model = resolveModel(layers, input.model, input.canOverrideModel);
  const overrides = resolveOverrides(layers, input.maxOutputTokens);
  return {
    request: requestOf(input, { model, messages: placeContext(messages, entries, made), tools }, overrides),
    offeredTools: isFiltered ? tools.map(({ id }) => id) : input.toolIds,
    cleanup: cleanup.isEmpty ? undefined : cleanup,
  };
}
