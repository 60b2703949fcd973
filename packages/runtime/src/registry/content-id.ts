import { findAgent, type RegistrySet } from "./registry-set.ts";

const SEPARATOR = "\u001f";
const LENGTH = 12;

/** A short name for a content: the same parts give the same id in every process. */
async function contentId(...parts: readonly string[]): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(parts.join(SEPARATOR)));
  const hex = Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.slice(0, LENGTH);
}

export async function agentPromptId(set: RegistrySet, id: string): Promise<string | undefined> {
  const agent = findAgent(set, id);
  return agent?.type === "local" ? contentId(agent.id, "system", agent.instructions) : undefined;
}

export async function toolDescId(set: RegistrySet, id: string): Promise<string | undefined> {
  const descriptor = set.tools.get(id)?.descriptor;
  return descriptor && contentId(descriptor.id, descriptor.description, JSON.stringify(descriptor.parameters));
}
