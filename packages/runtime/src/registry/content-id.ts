const SEPARATOR = "\u001f";
const LENGTH = 12;

/** A short name for a content: the same parts give the same id in every process. */
export async function contentId(...parts: readonly string[]): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(parts.join(SEPARATOR)));
  const hex = Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.slice(0, LENGTH);
}
