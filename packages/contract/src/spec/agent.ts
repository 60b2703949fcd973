import type { JsonObject } from "../json.ts";
import * as s from "../schema/all.ts";
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
  reasoningEffort: s.union([
    s.enum(["none", "low", "medium", "high", "max"]),
    s.strictObject({
      /** At most this many tokens of thought. */
      budget: count,
    }),
  ]),
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

const identity = {
  /** The name that runs, delegates and handoffs use. */
  id: specId,
  /** What other agents and people read about it. Default: the first line of its instructions. */
  description: s.exactOptional(s.string()),
};

/** Runs in this process. */
const localAgentSchema = s.transform(
  s.strictObject({
    ...identity,
    /** Need not be written: what has no `remote` runs here. */
    type: s.withDefault(s.literal("local"), "local"),
    /** The id of a model or of a pool. */
    model: s.withDefault(localFields.model, ""),
    /** The system prompt. Empty sends none. */
    instructions: s.withDefault(localFields.instructions, ""),
    /** How many inferences a run may take, with their tool calls. Default 16; then it is stopped. */
    maxSteps: s.withDefault(localFields.maxSteps, DEFAULT_MAX_STEPS),
    /** How often an answer that was cut at the token limit is continued. Default 2. */
    maxContinuationRetries: s.withDefault(localFields.maxContinuationRetries, DEFAULT_CONTINUATIONS),
    /** Calls of one turn together, or one after the other. Default `parallel`. */
    toolExecution: s.withDefault(toolExecution, "parallel"),
    /** Limits beside `maxSteps`. The first that is hit stops the run. */
    stopConditions: s.withDefault(localFields.stopConditions, []),
    /** Without one nothing is compacted, and a request is cut only when the vendor refuses it as too long. */
    contextPolicy: s.exactOptional(contextPolicySchema),
    /** How long the model may think. Left out, the vendor's default. */
    reasoningEffort: s.exactOptional(localFields.reasoningEffort),
    /** Plugins to load, in order: hooks run in it. */
    plugins: s.withDefault(localFields.plugins, []),
    /** Of the loaded plugins, those whose hooks, gates and tools are on; empty means all. */
    activePlugins: s.withDefault(localFields.activePlugins, []),
    /** Ids of tools that the agent sees. With neither this nor `toolPatterns` it sees all; `[]` is none. */
    tools: s.exactOptional(catalogueFields.tools),
    /** The same by glob: `mail.*`. */
    toolPatterns: s.exactOptional(catalogueFields.toolPatterns),
    /** Ids of tools that it does not see, whatever allows them. */
    excludedTools: s.exactOptional(catalogueFields.excludedTools),
    /** The same by glob. */
    excludedToolPatterns: s.exactOptional(catalogueFields.excludedToolPatterns),
    /** Settings of plugins, each under its section's name. Kept when the plugin goes. */
    sections: s.withDefault(jsonMap, {}),
    /** Agents that this one may call as tools. */
    delegates: s.withDefault(localFields.delegates, []),
    /** Agents that this one may hand the run over to. */
    handoffs: s.withDefault(localFields.handoffs, []),
  }),
  withAllowDefault,
);

/** Runs elsewhere; `registry` names the source that discovered it. */
const remoteAgentSchema = s.strictObject({
  ...identity,
  /** Need not be written: what has `remote` runs elsewhere. */
  type: s.withDefault(s.literal("remote"), "remote"),
  /** Where the agent lives, and how it is asked. */
  remote: remoteEndpointSchema,
  /** The source that discovered it; absent when it was written by hand. */
  registry: s.exactOptional(nonBlank),
});

/** An agent runs here or elsewhere. `type` need not be written: an agent with `remote` is remote. */
export const agentSpecSchema = s.union([localAgentSchema, remoteAgentSchema]);

export interface LocalAgentSpec extends Immutable<s.output<typeof localAgentSchema>> {}
export interface RemoteAgentSpec extends Immutable<s.output<typeof remoteAgentSchema>> {}
export type AgentSpec = LocalAgentSpec | RemoteAgentSpec;

/** `type` does not tell inputs apart, so that `{ ...agent, instructions }` is one whatever the agent is; parsing refuses the wrong mix. */
type AnyType<Input> = Omit<Input, "type"> & {
  /** Need not be written: an agent with `remote` is remote. */
  readonly type?: AgentSpec["type"];
};
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
