import * as s from "../schema/all.ts";
import { endpointUrl, REMOTE_BACKENDS, type RemoteEndpoint, shared } from "./endpoint.ts";
import { count, specId } from "./fields.ts";
import type { Immutable } from "./immutable.ts";
import { parseSpec } from "./parse.ts";

const SERVER_TIMEOUT_MS = 10_000;
const MAX_SERVER_TIMEOUT_MS = 30_000;

/** A server whose agents are discovered. */
export const a2aServerSpecSchema = s.strictObject({
  id: specId,
  baseUrl: endpointUrl,
  auth: shared.auth,
  target: shared.target,
  timeoutMs: s.withDefault(count, SERVER_TIMEOUT_MS),
  options: shared.options,
});

export interface A2aServerSpec extends Immutable<s.output<typeof a2aServerSpecSchema>> {}

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
