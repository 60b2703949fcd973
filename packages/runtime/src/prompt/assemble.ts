import { type Late, whenThere } from "../stream/door.ts";
import { contextMessages } from "./context-messages.ts";
import { inferenceOverrides } from "./inference-overrides.ts";
import { type Prompt, type PromptInput, requestOf } from "./request.ts";
import { seldom } from "./seldom-door.ts";
import { toolFilter } from "./tool-filter.ts";

const isChanged = ({ state, runOverrides, frontendContext }: PromptInput): boolean =>
  runOverrides !== undefined ||
  frontendContext !== undefined ||
  state.get(toolFilter) !== undefined ||
  state.get(inferenceOverrides) !== undefined ||
  state.get(contextMessages) !== undefined;

/** State and messages in, one request out. A step that nobody changed anything for gets the given messages and tools themselves. */
export function assemblePrompt(input: PromptInput): Late<Prompt> {
  if (isChanged(input)) return whenThere(seldom.open(), ({ assembleChanged }) => assembleChanged(input));
  const { reasoningEffort } = input.agent;
  const request = requestOf(input, input, reasoningEffort === undefined ? undefined : { reasoningEffort });
  return { request, offeredTools: input.toolIds, cleanup: undefined };
}
