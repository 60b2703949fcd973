import { createHash } from "node:crypto";
import { isJsonObject, type JsonValue } from "@awaken/contract";
import { mcpServerPrefix } from "../mcp/tool-id.ts";
import type { McpPrompt, McpServers } from "../mcp/types.ts";
import { ServerPrompts } from "./mcp-prompts.ts";
import { SkillError } from "./skill-error.ts";
import type { Skill, SkillListing, SkillSource } from "./types.ts";

/** A plugin of `mcp`, as far as skills need it. */
export interface PromptHost {
  /** Its servers. */
  readonly servers: Pick<McpServers, "status" | "listPrompts" | "getPrompt" | "readResource">;
}

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

/** States in which a server has the prompts that it had: it is there, or about to be there again. */
const STANDING = ["connected", "connecting", "reconnecting"];

/** The prompts of MCP servers as skills: `mcp:<server>:<prompt>`. A server that fails or hangs costs the others nothing. */
export function mcpSkills(host: PromptHost): SkillSource {
  const known = new Map<string, ServerPrompts>();
  const promptsOf = (id: string): ServerPrompts => {
    const found =
      known.get(id) ?? new ServerPrompts(async () => (await host.servers.listPrompts(id)).map((prompt) => promptSkill(host, id, prompt)));
    known.set(id, found);
    return found;
  };
  return {
    name: "MCP prompts",
    async list(now): Promise<SkillListing> {
      const standing = host.servers.status().filter(({ state }) => STANDING.includes(state));
      const there = standing.filter(({ state }) => state === "connected");
      await Promise.all(there.map(({ id }) => promptsOf(id).refresh(now)));
      return {
        skills: standing.flatMap(({ id }) => promptsOf(id).skills),
        warnings: there.flatMap(({ id }) => {
          const { problem } = promptsOf(id);
          return problem === undefined ? [] : [`the prompts of MCP server '${id}' cannot be listed, those known before stay: ${problem}`];
        }),
      };
    },
  };
}
