const MCP_TOOL = "mcp__";

/** Ids of sources that are read after the start: a tool of an MCP server, an agent as `source/agent`. Nobody can know them before. */
export const isLate = (id: string): boolean => id.startsWith(MCP_TOOL) || id.includes("/");
