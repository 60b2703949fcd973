import type { Resolution } from "../resolve/resolver.ts";

const DEFAULT_AGENT = "default";

/** Who runs when nobody is named and the thread is new: the only agent that runs here, else the one called `default`. */
export function defaultAgent({ snapshot }: Resolution): string {
  const { agents } = snapshot.registries;
  if (agents.has(DEFAULT_AGENT)) return DEFAULT_AGENT;
  let only: string | undefined;
  for (const { id, type } of agents.values()) {
    if (type === "remote") continue;
    if (only !== undefined) return DEFAULT_AGENT;
    only = id;
  }
  return only ?? DEFAULT_AGENT;
}
