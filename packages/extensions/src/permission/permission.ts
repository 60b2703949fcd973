import { errorMessage } from "@awaken/contract";
import { command, definePlugin, deny, excludeTool, type Gate, type HookInput, type Plugin, suspend } from "@awaken/runtime";
import { compileDefinition } from "./definition.ts";
import { isShut, joinLayers, judge, layerOf, type Rules } from "./evaluate.ts";
import { permissionOverrides, permissionPolicy } from "./policy.ts";
import { isRemembered, PERMISSION_CONFIRM, rememberDecision } from "./remember.ts";
import { permissionSectionSchema } from "./section.ts";

type Reader = Parameters<Gate>[0]["state"];

const rulesNow = (definition: Rules, state: Reader): Rules =>
  joinLayers(definition, layerOf(state.get(permissionPolicy)), layerOf(state.get(permissionOverrides)));

function gate(definition: Rules): Gate {
  return ({ call, state, resume }) => {
    const { name, input } = call;
    try {
      const { behavior } = judge(rulesNow(definition, state), name, input);
      if (behavior === "allow") return undefined;
      if (behavior === "deny") {
        const note = isRemembered(resume) ? "; what was to be remembered is kept, and has no effect while they stand" : "";
        return deny(`Tool '${name}' denied by permission rules${note}`);
      }
      return suspend({
        action: PERMISSION_CONFIRM,
        message: `Permission required for tool '${name}'`,
        parameters: input,
        resumeMode: "replay-tool-call",
      });
    } catch (thrown) {
      // Whoever cannot be judged does not pass.
      return deny(`Tool '${name}' denied: its permission could not be decided (${errorMessage(thrown)})`);
    }
  };
}

/** None when the rules cannot be read: then the gate refuses every call, and says why. */
function shutTools(definition: Rules, state: Reader, tools: HookInput<"beforeInference">["tools"]): readonly string[] {
  try {
    const rules = rulesNow(definition, state);
    return tools.map(({ id }) => id).filter((id) => isShut(rules, id));
  } catch {
    return [];
  }
}

/** Tools that could not be called anyway are not offered. */
function hide(definition: Rules): (input: HookInput<"beforeInference">) => ReturnType<typeof command> | undefined {
  return ({ state, tools }) => {
    const hidden = shutTools(definition, state, tools);
    return hidden.length === 0 ? undefined : command().schedule(excludeTool, hidden);
  };
}

/**
 * Allows, asks about or denies tool calls, by rules: those of the agent's section `permission`, those that the thread remembers, and those
 * that the run was granted. They are judged together and never copied into each other. Calls of all kinds of tools pass it.
 */
export function permission(): Plugin {
  return definePlugin({
    id: "permission",
    config: permissionSectionSchema,
    register(r, section) {
      const definition = compileDefinition(section);
      r.state(permissionPolicy);
      r.state(permissionOverrides);
      r.gate(gate(definition));
      r.hook("beforeInference", hide(definition));
      r.hook("afterToolExecute", rememberDecision);
    },
  });
}
