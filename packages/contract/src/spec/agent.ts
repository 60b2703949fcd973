import type { JsonObject } from "../json.ts";
import * as s from "../schema/index.ts";
import { contextPolicySchema } from "./context-policy.ts";
import { remoteEndpointSchema } from "./endpoint.ts";
import { count, jsonMap, nonBlank, specId } from "./fields.ts";
import type { Immutable, SpecInput } from "./immutable.ts";
import { checkSchema, type Members, readSpec, refuseSpec } from "./parse.ts";
import { encodePlain } from "./plain.ts";
import { stopConditionSchema } from "./stop-condition.ts";
import { catalogueFields, withAllowDefault } from "./tool-catalogue.ts";

const DEFAULT_MAX_STEPS = 16;
const DEFAULT_CONTINUATIONS = 2;
const MAX_DESCRIPTION = 100;

export const TOOL_EXECUTIONS = ["parallel", "sequential"] as const;
export type ToolExecution = (typeof TOOL_EXECUTIONS)[number];

/** Other names that the reference has for `parallel`. */
const PARALLEL_NAMES = ["parallel-batch-approval", "parallel-streaming"] as const;

const toolExecution = s.transform(
  s.enum([...TOOL_EXECUTIONS, ...PARALLEL_NAMES]),
  (mode): ToolExecution => (mode === "sequential" ? mode : "parallel"),
);

/** What only an agent that runs here has, without defaults: a patch has the same fields. */
export const localFields = {
  /** The id of a model or of a pool. */
  model: s.string(),
  instructions: s.string(),
  maxSteps: count,
  maxContinuationRetries: count,
  toolExecution,
  stopConditions: s.array(stopConditionSchema),
  contextPolicy: contextPolicySchema,
  reasoningEffort: s.union([s.enum(["none", "low", "medium", "high", "max"]), s.strictObject({ budget: count })]),
  /** Plugins to load, in order. */
  plugins: s.array(nonBlank),
  /** Of the loaded plugins, those whose hooks, gates and tools are on; empty means all. */
  activePlugins: s.array(nonBlank),
  /** Each plugin's part of the spec. Kept when the plugin goes. */
  sections: jsonMap,
  /** Agents that this one may call as tools. */
  delegates: s.array(nonBlank),
  /** Agents that this one may hand the run over to. */
  handoffs: s.array(nonBlank),
  ...catalogueFields,
};

const identity = { id: specId, description: s.exactOptional(s.string()) };

/** Runs in this process. */
const localAgentSchema = s.transform(
  s.strictObject({
    ...identity,
    type: s.withDefault(s.literal("local"), "local"),
    model: s.withDefault(localFields.model, ""),
    instructions: s.withDefault(localFields.instructions, ""),
    maxSteps: s.withDefault(localFields.maxSteps, DEFAULT_MAX_STEPS),
    maxContinuationRetries: s.withDefault(localFields.maxContinuationRetries, DEFAULT_CONTINUATIONS),
    toolExecution: s.prefault(toolExecution, "parallel"),
    stopConditions: s.withDefault(localFields.stopConditions, []),
    /** Without one nothing is compacted, and a request is cut only when the vendor refuses it as too long. */
    contextPolicy: s.exactOptional(contextPolicySchema),
    reasoningEffort: s.exactOptional(localFields.reasoningEffort),
    plugins: s.withDefault(localFields.plugins, []),
    activePlugins: s.withDefault(localFields.activePlugins, []),
    tools: s.exactOptional(catalogueFields.tools),
    toolPatterns: s.exactOptional(catalogueFields.toolPatterns),
    excludedTools: s.exactOptional(catalogueFields.excludedTools),
    excludedToolPatterns: s.exactOptional(catalogueFields.excludedToolPatterns),
    sections: s.withDefault(jsonMap, {}),
    delegates: s.withDefault(localFields.delegates, []),
    handoffs: s.withDefault(localFields.handoffs, []),
  }),
  withAllowDefault,
);

/** Runs elsewhere; `registry` names the source that discovered it. */
const remoteAgentSchema = s.strictObject({
  ...identity,
  type: s.withDefault(s.literal("remote"), "remote"),
  remote: remoteEndpointSchema,
  registry: s.exactOptional(nonBlank),
});

/** An agent runs here or elsewhere. `type` need not be written: an agent with `remote` is remote. */
export const agentSpecSchema = s.union([localAgentSchema, remoteAgentSchema]);

export interface LocalAgentSpec extends Immutable<s.output<typeof localAgentSchema>> {}
export interface RemoteAgentSpec extends Immutable<s.output<typeof remoteAgentSchema>> {}
export type AgentSpec = LocalAgentSpec | RemoteAgentSpec;

/** `type` does not tell inputs apart, so that `{ ...agent, instructions }` is one whatever the agent is; parsing refuses the wrong mix. */
type AnyType<Input> = Omit<Input, "type"> & { readonly type?: AgentSpec["type"] };
export type LocalAgentSpecInput = AnyType<SpecInput<s.input<typeof localAgentSchema>>>;
export type RemoteAgentSpecInput = AnyType<SpecInput<s.input<typeof remoteAgentSchema>>>;
export type AgentSpecInput = LocalAgentSpecInput | RemoteAgentSpecInput;

export function parseAgentSpec(id: string, input: unknown): AgentSpec {
  const place = { kind: "agent", id };
  const spec = readSpec(place, input);
  const { remote, type } = spec;
  if (remote === undefined && type !== "remote") return checkSchema(place, localAgentSchema, spec);
  const [misplaced] = listLocalFields(spec);
  if (misplaced !== undefined) refuseSpec(place, `field '${misplaced}' is for local agents; an agent has either local fields or 'remote'`);
  return checkSchema(place, remoteAgentSchema, spec);
}

/** Which of the fields that only a local agent has are there. */
export const listLocalFields = (members: Members): string[] => Object.keys(localFields).filter((name) => members[name] !== undefined);

const OMITTED_WHEN_EMPTY = ["stopConditions", "activePlugins", "sections", "delegates", "handoffs"];

/** The stored form: without the lists and maps that are empty by default. `parseAgentSpec` reads it back. */
export function encodeAgentSpec(spec: AgentSpec): JsonObject {
  const isEmpty = (value: object): boolean => Object.keys(value).length === 0;
  const members = Object.entries(encodePlain(spec)).filter(
    ([name, value]) => !(OMITTED_WHEN_EMPTY.includes(name) && typeof value === "object" && value !== null && isEmpty(value)),
  );
  return Object.fromEntries(members);
}

const cut = (text: string): string => [...text.slice(0, 2 * MAX_DESCRIPTION)].slice(0, MAX_DESCRIPTION).join("");

/** What people and models read about the agent: its description, else the first line of its instructions, else its id. */
export function displayDescription(spec: AgentSpec): string {
  const description = spec.description?.trim();
  if (description) return description;
  if (spec.type === "remote") return spec.id;
  const line = /\S.*/.exec(spec.instructions)?.[0].trim();
  return line ? cut(line) : spec.id;
}
