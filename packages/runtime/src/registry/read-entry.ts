import { AwakenError, describeType } from "@awaken/contract";
import { parseAgentSpec, parseModelSpec, parsePoolSpec } from "@awaken/contract/spec";
import type { BackendFactory } from "../backend/backend-factory.ts";
import type { Plugin } from "../plugin/define-plugin.ts";
import { fromAiSdkTool, isForeignTool } from "../tool/foreign-tool.ts";
import type { Tool } from "../tool/tool.ts";
import { freezeDeep } from "./freeze.ts";
import { readProvider } from "./provider-entry.ts";
import type { Entries, TableName } from "./registry-set.ts";

const isTool = (value: unknown): value is Tool =>
  typeof value === "object" && value !== null && "id" in value && "prepare" in value && typeof value.prepare === "function";
const isPlugin = (value: unknown): value is Plugin =>
  typeof value === "object" && value !== null && "id" in value && "load" in value && typeof value.load === "function";
const isBackend = (value: unknown): value is BackendFactory =>
  typeof value === "object" && value !== null && "type" in value && "build" in value && typeof value.build === "function";

/** An id that the entry does not have itself. Specs check theirs when they are parsed. */
export function checkId(category: string, id: string): void {
  if (typeof id !== "string") throw new AwakenError("invalid_id", `${category} id must be a string, got ${describeType(id)}`);
  if (id.trim() !== "" && id !== "__proto__") return;
  throw new AwakenError("invalid_id", `${category} id ${JSON.stringify(id)} is ${id === "__proto__" ? "a reserved name" : "blank"}`, {
    details: { category, id },
  });
}

function checkOwnId(category: string, id: string, own: string): void {
  if (own === id) return;
  throw new AwakenError("registry_build_failed", `registry build failed: ${category} '${own}' cannot be registered as '${id}'`, {
    details: { category, id, own },
  });
}

function refuseLive(
  code: "invalid_tool" | "invalid_plugin" | "registry_build_failed",
  category: string,
  id: string,
  expected: string,
): never {
  throw new AwakenError(code, `${category} '${id}' is not a ${category}: ${expected}`, { details: { category, id } });
}

/** Turns what was given into the entry to keep: specs are parsed, copied and frozen; live objects are checked for their shape. */
export const READ_ENTRY: { readonly [Name in TableName]: (id: string, input: unknown) => Entries[Name] } = {
  providers(id, input) {
    checkId("provider", id);
    return readProvider(id, input);
  },
  models: (id, input) => freezeDeep(parseModelSpec(id, input)),
  pools: (id, input) => freezeDeep(parsePoolSpec(id, input)),
  agents: (id, input) => freezeDeep(parseAgentSpec(id, input)),
  tools(id, input) {
    if (isForeignTool(input)) return fromAiSdkTool(id, input);
    if (!isTool(input)) return refuseLive("invalid_tool", "tool", id, "make it with defineTool");
    checkOwnId("tool", id, input.id);
    return input;
  },
  plugins(id, input) {
    if (!isPlugin(input)) return refuseLive("invalid_plugin", "plugin", id, "make it with definePlugin");
    checkOwnId("plugin", id, input.id);
    return input;
  },
  backends(id, input) {
    checkId("backend", id);
    if (!isBackend(input)) return refuseLive("registry_build_failed", "backend", id, "it must say its type and have `build`");
    checkOwnId("backend", id, input.type);
    return input;
  },
};
