import { AwakenError, type JsonObject, scopeId } from "@awaken/contract";

/** All that a request is let in by: its body is not read before. */
export interface RequestHead {
  /** `GET`, `POST` and so on. */
  readonly method: string;
  /** As the host gives it, with the query. */
  readonly url: string;
  /** Several of one name stand in one line, with commas. */
  readonly headers: Headers;
}

/** Who asks. */
export interface Caller {
  /** The tenant. It comes from here and from nowhere else: no body, query or path names one. */
  readonly scopeId: string;
  /** On whose behalf; kept on the runs that he starts. */
  readonly principal?: JsonObject;
}

/** Says who asks, or undefined for nobody that is known. What it throws counts as nobody, and is logged. */
export type Access = (head: RequestHead) => Caller | undefined | Promise<Caller | undefined>;

/** A key that a client holds. The server knows its hash alone. */
export interface ApiKey {
  /** SHA-256 of the key, as hex: `hashApiKey` makes it. */
  readonly hash: string;
  /** The tenant of whoever has the key. Default `default`. */
  readonly scopeId?: string;
  /** On whose behalf he asks; kept on the runs that he starts. */
  readonly principal?: JsonObject;
}

const toHex = (bytes: ArrayBuffer): string => Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");

export async function sha256(text: string): Promise<string> {
  return toHex(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

/** What the server has to know of a key. */
export const hashApiKey = (key: string): Promise<string> => sha256(key);

/** How long it takes says nothing about where they differ. Both are hashes, so their length is no secret. */
export function isSameHash(left: string, right: string): boolean {
  let difference = left.length ^ right.length;
  for (let index = 0; index < left.length; index++) difference |= left.charCodeAt(index) ^ (right.charCodeAt(index) || 0);
  return difference === 0;
}

const BEARER = /^bearer +([\x21-\x2b\x2d-\x7e]+)$/i;

/** The token of the one `Authorization` header: several of them stand in one line with commas, and are none. */
export const bearerOf = (headers: Headers): string | undefined => BEARER.exec(headers.get("authorization") ?? "")?.[1];

const HASH = /^[0-9a-f]{64}$/;

function readKey(key: ApiKey, index: number): ApiKey {
  const hash = key.hash.toLowerCase();
  if (!HASH.test(hash)) {
    throw new AwakenError("config_validation_failed", `the hash of API key ${index} must be 64 hex digits, as hashApiKey makes them`);
  }
  return { ...key, hash, scopeId: scopeId(key.scopeId ?? "default") };
}

/** Lets in whoever shows one of these keys, as `Authorization: Bearer …`. */
export function apiKeys(keys: readonly ApiKey[]): Access {
  const known = keys.map(readKey);
  return async ({ headers }) => {
    const token = bearerOf(headers);
    if (token === undefined) return undefined;
    const hash = await sha256(token);
    let found: ApiKey | undefined;
    // All of them, always.
    for (const key of known) if (isSameHash(key.hash, hash)) found = key;
    if (found === undefined) return undefined;
    const { scopeId: scope = "default", principal } = found;
    return { scopeId: scope, ...(principal === undefined ? undefined : { principal }) };
  };
}

/** Lets in everybody, as one tenant. */
export const openAccess =
  (scope = "default"): Access =>
  () => ({ scopeId: scope });

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i;

export const isLoopback = (host: string): boolean => LOOPBACK.test(host) || host === "::1";

/** Lets in everybody who asks for this machine by its own name: a page that has another name for it is not. */
export const loopbackAccess: Access = ({ headers }) => (LOOPBACK.test(headers.get("host") ?? "") ? { scopeId: "default" } : undefined);
