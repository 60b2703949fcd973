import { AwakenError, type Backend, errorMessage, type JsonObject } from "@awaken/contract";
import type { RemoteEndpoint } from "@awaken/contract/spec";

/** What a form asks for before an endpoint of this type can be written. */
export interface BackendConfigSchema {
  /** Of this description. */
  readonly version: number;
  /** JSON Schema of the endpoint. */
  readonly schema: JsonObject;
  /** What people call this type of endpoint. */
  readonly displayName?: string;
  /** What it is for. */
  readonly description?: string;
  /** What a form begins with. */
  readonly defaultConfig: JsonObject;
}

/** Makes what talks to remote agents of one type of endpoint. */
export interface BackendFactory {
  /** What `remote.type` of an agent names. */
  readonly type: string;
  /** For whoever shows a form. */
  readonly configSchema?: BackendConfigSchema;
  /** Throws what is wrong with an endpoint. Default: it is built once, for trial. */
  validate?(endpoint: RemoteEndpoint): void;
  /** Throws what is wrong with the endpoint. It is called when the agent is first needed. */
  build(endpoint: RemoteEndpoint): Backend;
}

/** Throws what is wrong with an endpoint, for its factory or because there is none. */
export function checkEndpoint(factory: BackendFactory | undefined, endpoint: RemoteEndpoint, agentId: string): BackendFactory {
  const { type } = endpoint;
  const details = { agentId, backend: type };
  if (factory === undefined) {
    throw new AwakenError("resolve_failed", `unsupported remote backend \`${type}\` for agent \`${agentId}\``, { details });
  }
  try {
    if (factory.validate === undefined) factory.build(endpoint);
    else factory.validate(endpoint);
  } catch (cause) {
    const why = `invalid remote endpoint config for agent \`${agentId}\` backend \`${type}\` — ${errorMessage(cause)}`;
    throw new AwakenError("resolve_failed", why, { cause, details });
  }
  return factory;
}
