import { AwakenError } from "@awaken/contract";
import { type McpServerSpec, parseMcpServerSpec } from "@awaken/contract/spec";
import { mcpServerPrefix } from "./tool-id.ts";
import type { ElicitationHandler, McpOptions, McpRoot, McpServerInput, Sampling } from "./types.ts";

/** One server as it was configured, checked, with what holds for all servers filled in. */
export interface ServerSetup {
  readonly spec: McpServerSpec;
  readonly era: "auto" | "2025" | "2026";
  readonly trustHints: boolean;
  readonly roots: readonly McpRoot[];
  /** `null`: refused, whoever could answer. */
  readonly sampling: Sampling | undefined;
  readonly elicitation: ElicitationHandler | undefined;
}

const refuse = (message: string): never => {
  throw new AwakenError("invalid_spec", `mcp: ${message}`);
};

const ERAS = ["auto", "2025", "2026"];

/** Programs that keep such lists tell the kind of a server by what it has. */
const typeOf = (server: McpServerInput): "stdio" | "http" => server.type ?? ("command" in server ? "stdio" : "http");

function readServer(id: string, given: McpServerInput, options: McpOptions): ServerSetup {
  const { era = "auto", trustHints = false, roots = options.roots ?? [], sampling, elicitation, ...rest } = given;
  if (!ERAS.includes(era)) refuse(`server '${id}': 'era' must be one of ${ERAS.join(", ")}`);
  const spec = parseMcpServerSpec(id, { ...rest, type: typeOf(given) });
  const asked = elicitation === undefined ? options.elicitation : elicitation;
  return {
    spec,
    era,
    trustHints,
    roots,
    sampling: sampling === undefined ? options.sampling : sampling,
    elicitation: asked ?? undefined,
  };
}

/** Reads all servers; two that cannot be told apart by their tools' ids are refused. */
export function readServers(options: McpOptions): readonly ServerSetup[] {
  const owners = new Map<string, string>();
  return Object.entries(options.servers).map(([id, given]) => {
    const prefix = mcpServerPrefix(id);
    const owner = owners.get(prefix);
    if (owner !== undefined) refuse(`servers '${owner}' and '${id}' would both have tools '${prefix}…': rename one`);
    owners.set(prefix, id);
    return readServer(id, given, options);
  });
}
