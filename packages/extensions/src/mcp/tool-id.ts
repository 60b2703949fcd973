import { AwakenError } from "@awaken/contract";

const PREFIX = "mcp__";

function part(name: string, what: string): string {
  const clean = name.replaceAll(/[^A-Za-z0-9]+/g, "_").replaceAll(/^_+|_+$/g, "");
  if (clean !== "") return clean;
  throw new AwakenError("invalid_id", `${what} '${name}' has no letter or digit to make a tool id of`, { details: { name } });
}

/** How the ids of all MCP tools begin. */
export const MCP_PREFIX = PREFIX;

/** How the ids of a server's tools begin: `my-srv` gives `mcp__my_srv__`. */
export const mcpServerPrefix = (server: string): string => `${PREFIX}${part(server, "MCP server")}__`;

/** The id of a server's tool, as agents, rules and models know it. */
export const mcpToolId = (server: string, tool: string): string => `${mcpServerPrefix(server)}${part(tool, "MCP tool")}`;
