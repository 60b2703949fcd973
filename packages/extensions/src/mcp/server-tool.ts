import { errorMessage, isJsonObject, type JsonObject, type Schema, toJson } from "@awaken/contract";
import { defineTool, fail, type Tool, type ToolContext } from "@awaken/runtime";
import type { Tool as ServerTool } from "@modelcontextprotocol/client";
import type { Caller } from "./caller.ts";
import { throttledProgress } from "./progress.ts";
import { toReply } from "./result.ts";
import { mcpToolId } from "./tool-id.ts";

/** The server checks the rest: its schema is told to the model as it is. */
const OBJECT: Schema<JsonObject> = {
  "~standard": {
    version: 1,
    vendor: "awaken",
    validate: (value) => (isJsonObject(value) ? { value } : { issues: [{ message: "must be an object" }] }),
  },
};

export interface ServerToolInit {
  readonly server: string;
  readonly transport: "stdio" | "http";
  readonly trustHints: boolean;
  readonly caller: Caller;
}

/** Who asks, for servers that keep a record or refuse to do a thing twice. */
function attribution({ identity, callId, idempotencyKey }: ToolContext): JsonObject {
  const { agentId, threadId, runId, parentRunId, parentToolCallId } = identity;
  return {
    agentId,
    threadId,
    runId,
    callId,
    idempotencyKey,
    ...(parentRunId === undefined ? {} : { parentRunId }),
    ...(parentToolCallId === undefined ? {} : { parentCallId: parentToolCallId }),
  };
}

/** Where a tool has a face of its own, the address of it. */
function faceOf({ _meta }: ServerTool): string | undefined {
  const meta = toJson(_meta ?? {});
  const { ui } = isJsonObject(meta) ? meta : {};
  const { resourceUri } = isJsonObject(ui) ? ui : {};
  return typeof resourceUri === "string" ? resourceUri : undefined;
}

/** A tool of a server as one of ours. Throws when no id can be made of its name, or its schema is none. */
export function serverTool(init: ServerToolInit, tool: ServerTool): Tool {
  const { server, transport, trustHints, caller } = init;
  const about: JsonObject = { "mcp.server": server, "mcp.tool": tool.name };
  const face = faceOf(tool);
  const parameters = toJson(tool.inputSchema);
  if (!isJsonObject(parameters)) throw new TypeError("its input schema is no object");
  const { readOnlyHint, idempotentHint } = trustHints ? (tool.annotations ?? {}) : {};
  return defineTool({
    id: mcpToolId(server, tool.name),
    description: tool.description ?? `MCP tool ${tool.name}`,
    input: OBJECT,
    parameters,
    dynamic: true,
    category: "mcp",
    metadata: { ...about, "mcp.transport": transport, "mcp.title": tool.title ?? tool.annotations?.title ?? tool.name },
    pure: readOnlyHint ?? false,
    idempotent: idempotentHint ?? false,
    execute: async (input, context) => {
      const outcome = await caller.call({
        tool: tool.name,
        agent: context.identity.agentId,
        input,
        meta: { "awaken/attribution": attribution(context) },
        signal: context.signal,
        onProgress: throttledProgress(context.clock, (report) => context.progress(report)),
      });
      if (outcome.type === "failed") return fail(outcome.code, outcome.message, { metadata: about });
      const shown = face === undefined ? {} : await caller.readFace(face);
      return toReply(outcome.result, { ...about, ...shown });
    },
  });
}

export interface LeftOut {
  readonly tool: string;
  readonly reason: string;
}

/** So many tools of one server are taken. */
const MAX_TOOLS = 1_000;

/** All tools of a server: what cannot be one of ours, or has the id of one before it, is left out and said so. */
export function serverTools(init: ServerToolInit, listed: readonly ServerTool[]): { tools: readonly Tool[]; leftOut: readonly LeftOut[] } {
  const tools = new Map<string, Tool>();
  const leftOut: LeftOut[] = [];
  const more = listed.length - MAX_TOOLS;
  for (const one of listed.slice(0, MAX_TOOLS)) {
    try {
      const tool = serverTool(init, one);
      const isTaken = tools.has(tool.id);
      if (isTaken) leftOut.push({ tool: one.name, reason: `its id '${tool.id}' is that of a tool before it` });
      else tools.set(tool.id, tool);
    } catch (thrown) {
      leftOut.push({ tool: one.name, reason: errorMessage(thrown) });
    }
  }
  if (more > 0) leftOut.push({ tool: `and ${more} more`, reason: `a server may have ${MAX_TOOLS} tools` });
  return { tools: Object.freeze([...tools.values()]), leftOut };
}
