import * as s from "../schema/all.ts";
import { Secret } from "../secret.ts";
import { baseUrlProblem, urlField } from "./base-url.ts";
import { isMask, jsonMap, MASKED, nonBlank, positive } from "./fields.ts";
import type { Immutable } from "./immutable.ts";
import { checkSchema, readObject } from "./parse.ts";

/** Backends that managed configuration may name. Resolution takes every type that has a factory. */
export const REMOTE_BACKENDS = ["a2a"] as const;

const AGENT_TIMEOUT_MS = 300_000;

export const endpointUrl = urlField("remote endpoint baseUrl", baseUrlProblem);

const AUTH = "bearer";
const authType = s.custom<typeof AUTH>(
  (value) => value === AUTH,
  (value) =>
    typeof value === "string"
      ? s.message(`remote endpoint auth type '${value.slice(0, 80)}' is unsupported`)
      : s.expected(`'${AUTH}'`, value),
  { const: AUTH },
);

const TOKEN = "remote endpoint auth token";
const token: s.Type<Secret, string | Secret> = s.transform(
  s.string().check(
    s.rule((text, report) => {
      if (text.trim() === "") report(s.message(`${TOKEN} must not be empty`));
      if (isMask(text)) report(s.message(`${TOKEN} ${MASKED}`));
    }),
  ),
  (text) => new Secret(text),
);

const auth = s.strictObject({
  /** How the token is sent. */
  type: authType,
  /** Masked in records and logs. */
  token,
});

export const shared = {
  /** Left out, the agent is asked without credentials. */
  auth: s.exactOptional(auth),
  /** The agent behind the address, where it serves several. */
  target: s.exactOptional(nonBlank),
  /** How long one answer may take. */
  timeoutMs: s.withDefault(positive, AGENT_TIMEOUT_MS),
  /** For the backend that talks to it. */
  options: s.withDefault(jsonMap, {}),
};

const shortEndpoint = s.transform(
  s.strictObject({
    /** The address of an A2A agent, for short. */
    a2a: endpointUrl,
    ...shared,
  }),
  ({ a2a, ...rest }) => ({
    type: REMOTE_BACKENDS[0],
    /** The address of the agent's server. */
    baseUrl: a2a,
    ...rest,
  }),
);

const fullEndpoint = s.strictObject({
  /** The backend that talks to it. Default `a2a`. */
  type: s.withDefault(nonBlank, REMOTE_BACKENDS[0]),
  /** The address of the agent's server. */
  baseUrl: endpointUrl,
  ...shared,
});

/** Where a remote agent lives. `{ a2a: url }` is short for `{ type: "a2a", baseUrl: url }`; the latter is stored. */
export const remoteEndpointSchema = s.union([shortEndpoint, fullEndpoint]);

export interface RemoteEndpoint extends Immutable<s.output<typeof fullEndpoint>> {}

export function parseRemoteEndpoint(input: unknown): RemoteEndpoint {
  const place = { kind: "remote endpoint" };
  return checkSchema(place, remoteEndpointSchema, readObject(place, input));
}
