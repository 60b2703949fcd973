import type { JsonObject } from "@awaken/contract";
import { createRuntime, defineTool, type Plugin, type RuntimeInit, type Tool } from "@awaken/runtime";
import { type ScriptStep, scripted } from "@awaken/runtime/testing";
import { memoryStore } from "@awaken/stores/memory";
import * as z from "zod";
import { permission } from "./permission.ts";
import type { PermissionSectionInput } from "./section.ts";

export interface DeskInit {
  readonly section?: PermissionSectionInput;
  readonly store?: NonNullable<RuntimeInit["store"]>;
  readonly plugins?: readonly Plugin[];
  readonly tools?: readonly Tool[];
}

/** A runtime with one agent, the plugin, and three tools that write down what they ran with. */
export function openDesk(turns: readonly ScriptStep[], { section, store = memoryStore(), plugins = [], tools = [] }: DeskInit = {}) {
  const ran: JsonObject[] = [];
  const bash = defineTool({
    id: "Bash",
    description: "Runs a command",
    input: z.object({ command: z.string(), cwd: z.string().optional() }),
    execute: ({ command }) => {
      ran.push({ tool: "Bash", command });
      return `ran ${command}`;
    },
  });
  const read = defineTool({
    id: "read_file",
    description: "Reads a file",
    input: z.object({ path: z.string() }),
    execute: ({ path }) => {
      ran.push({ tool: "read_file", path });
      return `text of ${path}`;
    },
  });
  const list = defineTool({ id: "list_files", description: "Lists files", input: z.object({}), execute: () => "a b" });
  const all = [permission(), ...plugins];
  const model = scripted(turns);
  const runtime = createRuntime({
    providers: { main: model },
    models: { fast: { provider: "main", model: "m" } },
    agents: {
      assistant: {
        model: "fast",
        plugins: all.map(({ id }) => id),
        ...(section === undefined ? {} : { sections: { permission: JSON.parse(JSON.stringify(section)) } }),
      },
    },
    tools: [bash, read, list, ...tools],
    plugins: all,
    store,
    log: { warn() {}, error() {} },
  });
  return {
    runtime,
    model,
    ran,
    /** Ids of the tools that the model was offered in this request. */
    offered: (request: number) => (model.requests[request]?.tools ?? []).map(({ id }) => id),
    /** The whole request as text, to look for what the model reads. */
    asked: (request: number) => JSON.stringify(model.requests[request]?.messages ?? []),
  };
}
