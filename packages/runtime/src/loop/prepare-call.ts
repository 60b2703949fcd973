import { copyJson, type JsonValue } from "@awaken/contract";
import { isPromise } from "../stream/bounds.ts";
import type { Tool } from "../tool/tool.ts";
import type { RunContext } from "./run-context.ts";

/** The tool's own check of an input, within its limit: of a copy, which tools and schemas may change as they like. Without a promise when its schema needs none. */
export function prepareCall({ bounds }: Pick<RunContext, "bounds">, tool: Tool, input: JsonValue): ReturnType<Tool["prepare"]> {
  const checked = tool.prepare(copyJson(input), bounds);
  if (!isPromise(checked)) return checked;
  return bounds.wait(checked, { limit: "schemaMs", onAbort: "leave", name: () => `the input schema of tool '${tool.id}'` });
}
