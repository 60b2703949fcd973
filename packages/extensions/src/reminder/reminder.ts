import { AwakenError, validateSync } from "@awaken/contract";
import { addContextMessage, type Command, command, definePlugin, type HookInput, type Plugin } from "@awaken/runtime";
import { type CompiledRule, compileRules } from "./compile-rule.ts";
import { type ReminderRule, type ReminderRuleInput, reminderSectionSchema } from "./section.ts";

export interface ReminderOptions {
  /** For every agent that has the plugin, before those of its section. */
  readonly rules?: readonly ReminderRuleInput[];
}

function readRules(rules: readonly ReminderRuleInput[]): readonly ReminderRule[] {
  const read = validateSync(reminderSectionSchema, { rules });
  if (read.type === "valid") return read.value.rules;
  throw new AwakenError("invalid_plugin_config", `invalid rules of plugin reminder: ${read.message}`, { details: { plugin: "reminder" } });
}

/** A result that takes too long to compare is not reminded of: no reminder is worth a failed run. */
function isMatch(rule: CompiledRule, { call, result }: HookInput<"afterToolExecute">): boolean {
  try {
    return rule.matches(call.name, call.input, result);
  } catch {
    return false;
  }
}

function remind(rules: readonly CompiledRule[], input: HookInput<"afterToolExecute">): Command | undefined {
  const matching = rules.filter((rule) => isMatch(rule, input));
  if (matching.length === 0) return undefined;
  return matching.reduce(
    (all, { name, message }) => all.schedule(addContextMessage, { key: `reminder.${name}`, role: "system", ...message }),
    command(),
  );
}

/** Tells the model something with its next request, after tool results that match: rules stand in the agent's section `reminder`. */
export function reminder(options: ReminderOptions = {}): Plugin {
  const own = readRules(options.rules ?? []);
  compileRules(own);
  return definePlugin({
    id: "reminder",
    config: reminderSectionSchema,
    register(r, { rules }) {
      const compiled = compileRules([...own, ...rules]);
      r.hook("afterToolExecute", (input) => remind(compiled, input));
    },
  });
}
