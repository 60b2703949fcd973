import { sha256 } from "./sha-256.ts";

/** An id that follows from a key, the same in every process: a UUID v8 (RFC 9562) of its hash. */
export function derivedId(key: string): string {
  const all = sha256(key);
  return `${all.slice(0, 8)}-${all.slice(8, 12)}-8${all.slice(13, 16)}-8${all.slice(17, 20)}-${all.slice(20, 32)}`;
}
