import * as s from "../schema/all.ts";
import { type AgentSpec, listLocalFields, localFields, parseAgentSpec } from "./agent.ts";
import { remoteEndpointSchema } from "./endpoint.ts";
import type { ConfigRecord } from "./envelope.ts";
import { nonBlank } from "./fields.ts";
import type { Immutable } from "./immutable.ts";
import { checkSchema, type Members, readObject, refuseSpec } from "./parse.ts";
import { parseToolRecord, type ToolRecord } from "./tool-record.ts";

const MAX_DESCRIPTION_BYTES = 4_096;

const { contextPolicy, reasoningEffort, ...others } = localFields;

/** Changes to an agent. Absent inherits, a value replaces, and null clears where null is allowed. */
export const agentPatchSchema = s
  .partialObject({
    ...others,
    description: s.nullable(s.string()),
    contextPolicy: s.nullable(contextPolicy),
    reasoningEffort: s.nullable(reasoningEffort),
    remote: s.nullable(remoteEndpointSchema),
  })
  .check(
    s.rule((patch, report) => {
      const [misplaced] = listLocalFields(patch);
      if (patch.remote && misplaced !== undefined) report(s.problem("cannot be patched together with 'remote'", [misplaced]));
    }),
  );

export type AgentPatch = Immutable<s.output<typeof agentPatchSchema>>;

export function parseAgentPatch(id: string, input: unknown): AgentPatch {
  const place = { kind: "agent", part: "patch", id } as const;
  return checkSchema(place, agentPatchSchema, readObject(place, input));
}

/** What the changes are laid over: the agent, or its identity alone when it moves here or elsewhere. */
function patchTarget(spec: AgentSpec, remote: AgentPatch["remote"]): Members {
  const { id, description } = spec;
  if (remote) return { id, type: "remote", description, registry: spec.type === "remote" ? spec.registry : undefined, remote };
  if (remote === null && spec.type === "remote") return { id, type: "local", description };
  return { ...spec };
}

function mergeSections(base: unknown, changes: AgentPatch["sections"]): Members {
  const merged = { ...(typeof base === "object" ? base : {}), ...changes };
  const isRemoved = (name: string): boolean => changes?.[name] === null;
  return Object.fromEntries(Object.entries(merged).filter(([name]) => !isRemoved(name)));
}

/** Null may only stay in the allow fields, and if both say null nothing is allowed: a merge never opens up to everything. */
function dropNulls(members: Members): Members {
  const isAllowField = (name: string): boolean => name === "tools" || name === "toolPatterns";
  const kept = Object.fromEntries(Object.entries(members).filter(([name, value]) => value !== null || isAllowField(name)));
  const { tools = null, toolPatterns = null } = members;
  return tools === null && toolPatterns === null ? { ...kept, tools: [], toolPatterns: [] } : kept;
}

/** The agent with the changes made. Its id and registry stay; sections merge by name, and a section of null goes. */
export function applyAgentPatch(spec: AgentSpec, patch: AgentPatch): AgentSpec {
  const target = patchTarget(spec, patch.remote);
  const { type, sections } = target;
  const changes = Object.fromEntries(Object.entries(patch).filter(([name, value]) => value !== undefined && name !== "remote"));
  if (type === "remote") {
    const [misplaced] = listLocalFields(changes);
    const place = { kind: "agent", part: "patch", id: spec.id } as const;
    if (misplaced !== undefined) refuseSpec(place, `field '${misplaced}' is for local agents, and the patched agent is remote`);
    const { description = null, ...rest } = { ...target, ...changes };
    return parseAgentSpec(spec.id, description === null ? rest : { ...rest, description });
  }
  return parseAgentSpec(spec.id, dropNulls({ ...target, ...changes, sections: mergeSections(sections, patch.sections) }));
}

/** The agent that a stored record stands for. */
export function effectiveAgentSpec({ spec, meta }: ConfigRecord<AgentSpec>): AgentSpec {
  return meta.userOverrides === undefined ? spec : applyAgentPatch(spec, parseAgentPatch(spec.id, meta.userOverrides));
}

const isShort = (text: string): boolean => new TextEncoder().encode(text).length <= MAX_DESCRIPTION_BYTES;

/** Of a tool only the description can be changed. */
export const toolPatchSchema = s.strictObject({
  description: s.exactOptional(
    nonBlank.check(
      s.rule((text, report) => {
        if (!isShort(text)) report(s.problem(`must have at most ${MAX_DESCRIPTION_BYTES} bytes`));
      }),
    ),
  ),
});

export interface ToolPatch extends Immutable<s.output<typeof toolPatchSchema>> {}

export function parseToolPatch(id: string, input: unknown): ToolPatch {
  const place = { kind: "tool", part: "patch", id } as const;
  return checkSchema(place, toolPatchSchema, readObject(place, input));
}

export const applyToolPatch = (tool: ToolRecord, patch: ToolPatch): ToolRecord => parseToolRecord(tool.id, { ...tool, ...patch });

/** Providers, models and pools are replaced, never patched: only an empty patch is valid. */
export const emptyPatchSchema = s.strictObject({});

export function parseEmptyPatch(kind: "provider" | "model" | "model pool", id: string, input: unknown): Readonly<Record<string, never>> {
  const place = { kind, part: "patch", id } as const;
  return checkSchema(place, emptyPatchSchema, readObject(place, input));
}
