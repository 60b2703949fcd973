const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** An id that follows from a key, the same in every process: a UUID v8 (RFC 9562) of its hash. */
export async function derivedId(key: string): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key))).slice(0, 16);
  const all = hex(hash);
  return `${all.slice(0, 8)}-${all.slice(8, 12)}-8${all.slice(13, 16)}-8${all.slice(17, 20)}-${all.slice(20)}`;
}
