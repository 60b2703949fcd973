import * as s from "@awaken/contract/schema";
import {
  addContextMessage,
  type Command,
  command,
  definePlugin,
  defineTool,
  excludeTool,
  type HookInput,
  type Plugin,
  reply,
  type Tool,
} from "@awaken/runtime";
import { compileDeferral, type Deferral, TOOL_SEARCH } from "./deferral.ts";
import { promotions } from "./promotions.ts";
import { describeTools, searchTools } from "./search.ts";
import { deferredToolsSectionSchema } from "./section.ts";

const DESCRIPTION =
  "Finds tools that are not shown. Query: words to look for, `+word` for one that must occur, or `select:a,b` for tools by name. What it finds can be called from then on.";

const NOTHING = "No matching tools found in the deferred tool registry.";

/** The names are what the model sees. */
const searchSchema = s.object({
  query: s.string(),
  max_results: s.withDefault(s.int().check(s.atLeast(1)), 5),
});

function toolSearch(deferral: Deferral): Tool {
  return defineTool({
    id: TOOL_SEARCH,
    description: DESCRIPTION,
    input: searchSchema,
    pure: true,
    execute({ query, max_results }, { tools }) {
      const found = searchTools(deferral(tools), query, max_results);
      if (found.length === 0) return reply({ tools: NOTHING }, { message: NOTHING });
      const text = describeTools(found);
      const ids = found.map(({ id }) => id);
      // What is promoted is state, not part of what the model reads.
      return reply(
        { tools: text },
        { message: text, metadata: { promoted: ids }, command: command().update(promotions, { type: "promote", tools: ids }) },
      );
    },
  });
}

/** The same text whatever is promoted, so that what vendors cache of a prompt stays good. */
const announce = (deferred: ReturnType<Deferral>): string =>
  `The following deferred tools are available via ${TOOL_SEARCH}: ${deferred.map(({ id }) => id).join(", ")}`;

function hide(deferral: Deferral, { tools, state }: HookInput<"beforeInference">): Command {
  const deferred = deferral(tools);
  if (deferred.length === 0) return command().schedule(excludeTool, TOOL_SEARCH);
  const promoted = state.get(promotions)?.promoted ?? {};
  const hidden = deferred.flatMap(({ id }) => (Object.hasOwn(promoted, id) ? [] : [id]));
  const all = hidden.length === 0 ? command() : command().schedule(excludeTool, hidden);
  return all.schedule(addContextMessage, { key: "deferred_tools.list", role: "system", target: "system", content: announce(deferred) });
}

/**
 * Hides tools until the model searches for them: it reads their names and has the tool `ToolSearch`. Which ones, and whether it pays, says the
 * agent's section `deferred-tools`. Hidden is not forbidden: a call of a hidden tool runs, and shows it. What is shown stays so in its
 * thread until it was not called for some steps.
 */
export function deferredTools(): Plugin {
  return definePlugin({
    id: "deferred-tools",
    config: deferredToolsSectionSchema,
    register(r, section) {
      const deferral = compileDeferral(section);
      const { deferAfter } = section.discBeta;
      r.state(promotions);
      r.tool(toolSearch(deferral));
      r.hook("beforeInference", (input) => hide(deferral, input));
      r.hook("afterInference", ({ state }) =>
        Object.keys(state.get(promotions)?.promoted ?? {}).length === 0
          ? undefined
          : command().update(promotions, { type: "step", deferAfter }),
      );
      r.hook("afterToolExecute", ({ call, tools }) =>
        deferral(tools).some(({ id }) => id === call.name)
          ? command().update(promotions, { type: "promote", tools: [call.name] })
          : undefined,
      );
    },
  });
}
