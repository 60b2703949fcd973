import { createHash } from "node:crypto";
import { isJsonObject, type JsonValue } from "@awaken/contract";
import { mcpServerPrefix } from "../mcp/tool-id.ts";
import type { McpPrompt, McpServers } from "../mcp/types.ts";
import { SkillError } from "./skill-error.ts";
import type { Skill, SkillListing, SkillSource } from "./types.ts";

/** A plugin of `mcp`, as far as skills need it. */
export interface PromptHost {
  /** Its servers. */
  readonly servers: Pick<McpServers, "status" | "listPrompts" | "getPrompt" | "readResource">;
}

/** Servers are asked again after this. */
const FRESH_MS = 30_000;
const REFERENCES = "references/";

function textArguments({ name, arguments: declared }: McpPrompt, args: JsonValue | undefined): { readonly [name: string]: string } {
  const [only, ...others] = declared;
  const given = typeof args === "string" && only !== undefined && others.length === 0 ? { [only.name]: args } : (args ?? {});
  if (!isJsonObject(given)) throw new SkillError("invalid_arguments", `prompt '${name}' takes an object of arguments`);
  const missing = declared.find((one) => one.required && (given[one.name] ?? null) === null);
  if (missing !== undefined) throw new SkillError("invalid_arguments", `argument '${missing.name}' is required`);
  const unknown = Object.keys(given).find((key) => !declared.some((one) => one.name === key));
  if (unknown !== undefined) throw new SkillError("invalid_arguments", `argument '${unknown}' is not declared`);
  return Object.fromEntries(Object.entries(given).map(([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)]));
}

function promptSkill({ servers }: PromptHost, server: string, prompt: McpPrompt): Skill {
  const { name, title, description } = prompt;
  return {
    id: `mcp:${server}:${name}`,
    name: title ?? name,
    description: description ?? `Prompt ${name} of ${server}`,
    whenToUse: undefined,
    allowedTools: [`${mcpServerPrefix(server)}*`],
    arguments: prompt.arguments.map((one) => ({
      name: one.name,
      required: one.required,
      ...(one.description === undefined ? {} : { description: one.description }),
    })),
    modelInvocable: true,
    fingerprint: createHash("sha256").update(JSON.stringify(prompt)).digest("hex"),
    hasResources: true,
    hasScripts: false,
    instruct: async (args) => servers.getPrompt(server, name, textArguments(prompt, args)),
    async load(path) {
      if (!path.startsWith(REFERENCES))
        throw new SkillError("unsupported_path", `resources of an MCP server are read as ${REFERENCES}<uri>`);
      const [first] = await servers.readResource(server, path.slice(REFERENCES.length));
      if (first?.text !== undefined) return { kind: "reference", content: first.text };
      return { kind: "asset", content: first?.blob ?? "" };
    },
    findScript: () => Promise.reject(new SkillError("unsupported_operation", "a prompt has no scripts")),
  };
}

/** The prompts of MCP servers as skills: `mcp:<server>:<prompt>`. */
export function mcpSkills(host: PromptHost): SkillSource {
  let last: { readonly at: number; readonly connected: string; readonly listing: SkillListing } | undefined;
  return {
    name: "MCP prompts",
    async list(now) {
      const ids = host.servers.status().flatMap(({ id, state }) => (state === "connected" ? [id] : []));
      const connected = ids.join(" ");
      if (last !== undefined && last.connected === connected && now - last.at < FRESH_MS) return last.listing;
      const listed = await Promise.all(
        ids.map(async (id) => (await host.servers.listPrompts(id)).map((prompt) => promptSkill(host, id, prompt))),
      );
      const listing = { skills: listed.flat(), warnings: [] };
      last = { at: now, connected, listing };
      return listing;
    },
  };
}
