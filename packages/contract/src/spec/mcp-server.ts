import * as z from "zod";
import { httpUrlProblem, urlField } from "./base-url.ts";
import { count, jsonMap, nonBlank, positive, secret, specId } from "./fields.ts";
import type { Immutable, SpecInput } from "./immutable.ts";
import { parseSpec } from "./parse.ts";

const restartPolicy = z.strictObject({
  enabled: z.boolean().default(false),
  /** `null` is no limit. */
  maxAttempts: count.nullable().default(null),
  delayMs: count.default(1_000),
  backoffMultiplier: z.number().min(1).default(2),
  maxDelayMs: count.default(30_000),
});

const shared = {
  id: specId,
  timeoutSecs: positive.default(30),
  /** Handed to the server when the connection opens. */
  config: jsonMap.default({}),
  restartPolicy: restartPolicy.prefault({}),
};

/** An MCP server: a program that we start, or an address. */
export const mcpServerSpecSchema = z.discriminatedUnion("type", [
  z.strictObject({
    ...shared,
    type: z.literal("stdio"),
    command: nonBlank,
    args: z.array(z.string()).default([]),
    env: z.record(z.string(), secret).default({}),
  }),
  z.strictObject({
    ...shared,
    type: z.literal("http"),
    url: urlField("field 'url'", httpUrlProblem),
    headers: z.record(z.string(), secret).default({}),
  }),
]);

export type McpServerSpec = Immutable<z.output<typeof mcpServerSpecSchema>>;
export type McpServerSpecInput = SpecInput<z.input<typeof mcpServerSpecSchema>>;

export const parseMcpServerSpec = (id: string, input: unknown): McpServerSpec => parseSpec("MCP server", id, mcpServerSpecSchema, input);
