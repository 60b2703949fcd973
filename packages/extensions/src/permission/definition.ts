import { AwakenError } from "@awaken/contract";
import { compileToolCallPattern } from "../pattern/compile-tool-call.ts";
import type { Rules } from "./evaluate.ts";
import type { Rule } from "./rule.ts";
import type { PermissionSection } from "./section.ts";

function compileRule({ tool, behavior }: PermissionSection["rules"][number], index: number): Rule {
  try {
    return { matcher: compileToolCallPattern(tool), behavior };
  } catch (cause) {
    if (!AwakenError.is(cause)) throw cause;
    // A rule is never left out: a deny that is not read would be one that is gone.
    throw new AwakenError("invalid_plugin_config", `invalid config for plugin permission: rule ${index} — ${cause.message}`, {
      details: { plugin: "permission", key: "permission", rule: index, ...cause.details },
      cause,
    });
  }
}

/** The rules of an agent's section. Throws with the index of a rule whose pattern is malformed. */
export const compileDefinition = ({ defaultBehavior, rules }: PermissionSection): Rules => ({
  defaultBehavior,
  rules: rules.map(compileRule),
});
