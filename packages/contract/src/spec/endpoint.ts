import * as z from "zod";
import { Secret } from "../secret.ts";
import { baseUrlProblem, urlField } from "./base-url.ts";
import { count, isMask, jsonMap, MASKED, nonBlank, positive, specId } from "./fields.ts";
import type { Immutable, SpecInput } from "./immutable.ts";
import { checkSchema, parseSpec, readObject } from "./parse.ts";

/** Backends that managed configuration may name. Resolution takes every type that has a factory. */
export const REMOTE_BACKENDS = ["a2a"] as const;

const AGENT_TIMEOUT_MS = 300_000;
const SERVER_TIMEOUT_MS = 10_000;
const MAX_SERVER_TIMEOUT_MS = 30_000;

const endpointUrl = urlField("remote endpoint baseUrl", baseUrlProblem);

const authType = z.literal("bearer", {
  error: ({ input }) => (typeof input === "string" ? `remote endpoint auth type '${input.slice(0, 80)}' is unsupported` : undefined),
});

const TOKEN = "remote endpoint auth token";
const token: z.ZodType<Secret, string | Secret> = z
  .string()
  .superRefine((text, ctx) => {
    if (text.trim() === "") ctx.addIssue({ code: "custom", message: `${TOKEN} must not be empty` });
    if (isMask(text)) ctx.addIssue({ code: "custom", message: `${TOKEN} ${MASKED}` });
  })
  .transform((text) => new Secret(text));

const auth = z.strictObject({ type: authType, token });

const shared = {
  auth: auth.exactOptional(),
  /** The agent behind the address, where it serves several. */
  target: nonBlank.exactOptional(),
  timeoutMs: positive.default(AGENT_TIMEOUT_MS),
  options: jsonMap.default({}),
};

const shortEndpoint = z
  .strictObject({ a2a: endpointUrl, ...shared })
  .transform(({ a2a, ...rest }) => ({ type: REMOTE_BACKENDS[0], baseUrl: a2a, ...rest }));

const fullEndpoint = z.strictObject({ type: nonBlank.default(REMOTE_BACKENDS[0]), baseUrl: endpointUrl, ...shared });

/** Where a remote agent lives. `{ a2a: url }` is short for `{ type: "a2a", baseUrl: url }`; the latter is stored. */
export const remoteEndpointSchema = z.union([shortEndpoint, fullEndpoint]);

export interface RemoteEndpoint extends Immutable<z.output<typeof fullEndpoint>> {}
export type RemoteEndpointInput = Immutable<z.input<typeof remoteEndpointSchema>>;

export function parseRemoteEndpoint(input: unknown): RemoteEndpoint {
  const place = { kind: "remote endpoint" };
  return checkSchema(place, remoteEndpointSchema, readObject(place, input));
}

/** A server whose agents are discovered. */
export const a2aServerSpecSchema = z.strictObject({
  id: specId,
  baseUrl: endpointUrl,
  auth: shared.auth,
  target: shared.target,
  timeoutMs: count.default(SERVER_TIMEOUT_MS),
  options: shared.options,
});

export interface A2aServerSpec extends Immutable<z.output<typeof a2aServerSpecSchema>> {}
export type A2aServerSpecInput = SpecInput<z.input<typeof a2aServerSpecSchema>>;

export const parseA2aServerSpec = (id: string, input: unknown): A2aServerSpec => parseSpec("A2A server", id, a2aServerSpecSchema, input);

/** How long one request to the server itself may take, whatever was written. */
export const a2aServerTimeoutMs = (server: A2aServerSpec): number => Math.min(Math.max(server.timeoutMs, 1), MAX_SERVER_TIMEOUT_MS);

/** The endpoint of one agent of a server; its `options.a2aServerId` says which server that was. */
export function a2aServerEndpoint(server: A2aServerSpec, target = server.target): RemoteEndpoint {
  return {
    type: REMOTE_BACKENDS[0],
    baseUrl: server.baseUrl,
    ...(server.auth === undefined ? {} : { auth: server.auth }),
    ...(target === undefined ? {} : { target }),
    timeoutMs: server.timeoutMs,
    options: { ...server.options, a2aServerId: server.id },
  };
}
