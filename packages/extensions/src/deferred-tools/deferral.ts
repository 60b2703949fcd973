import { AwakenError, type ToolDescriptor } from "@awaken/contract";
import { compileValueGlob } from "../pattern/value-glob.ts";
import type { DeferredToolsSection } from "./section.ts";

export const TOOL_SEARCH = "ToolSearch";

/** Which tools of a catalogue are deferred, sorted by id; none when deferring is off or would not pay. */
export type Deferral = (tools: readonly ToolDescriptor[]) => readonly ToolDescriptor[];

type Tools = Parameters<Deferral>[0];

/** What a tool costs in a request, and what its id alone does, in tokens. */
function savedBy({ id, description, parameters }: ToolDescriptor): number {
  const whole = Math.max((JSON.stringify(parameters).length + description.length) / 4, 10);
  return Math.max(whole - Math.max(id.length / 4, 1), 0);
}

function compileMode({ rules, defaultMode }: DeferredToolsSection): (id: string) => "eager" | "deferred" {
  const compiled = rules.map(({ tool, mode }, index) => {
    try {
      const glob = compileValueGlob(tool);
      // An id may have signs that mean something in a glob.
      return { mode, matches: (id: string) => id === tool || glob(id) };
    } catch (cause) {
      if (!AwakenError.is(cause)) throw cause;
      throw new AwakenError("invalid_plugin_config", `invalid config for plugin deferred-tools: rule ${index} — ${cause.message}`, {
        details: { plugin: "deferred-tools", key: "deferred-tools", rule: index, ...cause.details },
        cause,
      });
    }
  });
  return (id) => compiled.find(({ matches }) => matches(id))?.mode ?? defaultMode;
}

/** Looked at once for each catalogue: a run has one list until another agent takes over. */
export function compileDeferral(section: DeferredToolsSection): Deferral {
  const modeOf = compileMode(section);
  const known = new WeakMap<Tools, readonly ToolDescriptor[]>();
  const find = (tools: Tools): readonly ToolDescriptor[] => {
    // Without the search nobody could find what is hidden.
    if (section.enabled === false || !tools.some(({ id }) => id === TOOL_SEARCH)) return [];
    const deferred = tools.filter(({ id }) => id !== TOOL_SEARCH && modeOf(id) === "deferred");
    const pays = section.enabled === true || deferred.reduce((sum, tool) => sum + savedBy(tool), 0) > section.betaOverhead;
    return pays ? deferred : [];
  };
  return (tools) => {
    const before = known.get(tools);
    if (before !== undefined) return before;
    const found = find(tools);
    known.set(tools, found);
    return found;
  };
}
