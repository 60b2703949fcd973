import * as s from "../schema/all.ts";
import { httpUrlProblem, urlField } from "./base-url.ts";
import { count, jsonMap, nonBlank, positive, secret, specId } from "./fields.ts";
import type { Immutable } from "./immutable.ts";
import { parseSpec } from "./parse.ts";

const restartPolicy = s.strictObject({
  enabled: s.withDefault(s.boolean(), false),
  /** `null` is no limit. */
  maxAttempts: s.withDefault(s.nullable(count), null),
  delayMs: s.withDefault(count, 1_000),
  backoffMultiplier: s.withDefault(s.number().check(s.atLeast(1)), 2),
  maxDelayMs: s.withDefault(count, 30_000),
});

const shared = {
  id: specId,
  timeoutSecs: s.withDefault(positive, 30),
  /** Handed to the server when the connection opens. */
  config: s.withDefault(jsonMap, {}),
  restartPolicy: s.withDefault(restartPolicy, {}),
};

/** An MCP server: a program that we start, or an address. */
export const mcpServerSpecSchema = s.taggedUnion("type", [
  s.strictObject({
    ...shared,
    type: s.literal("stdio"),
    command: nonBlank,
    args: s.withDefault(s.array(s.string()), []),
    env: s.withDefault(s.record(secret), {}),
    /** Where it starts; left out, where we are. */
    cwd: s.optional(nonBlank),
  }),
  s.strictObject({
    ...shared,
    type: s.literal("http"),
    url: urlField("field 'url'", httpUrlProblem),
    headers: s.withDefault(s.record(secret), {}),
  }),
]);

export type McpServerSpec = Immutable<s.output<typeof mcpServerSpecSchema>>;

export const parseMcpServerSpec = (id: string, input: unknown): McpServerSpec => parseSpec("MCP server", id, mcpServerSpecSchema, input);
