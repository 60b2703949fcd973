import type { RunRecord, Ticket } from "@awaken/contract";
import type { ThreadHead } from "@awaken/contract/store";
import { activeAgent } from "@awaken/runtime";
import type { Change } from "./block.ts";

/** A run that is not over. */
export interface OpenRun {
  readonly runId: string;
  readonly agentId: string;
}

export type TalkState =
  | { readonly type: "idle" }
  /** From the moment at which it is asked for, until what it left behind is known. */
  | { readonly type: "running" }
  | { readonly type: "waiting"; readonly run: OpenRun }
  /** The record says running, and nobody here executes it. */
  | { readonly type: "cut-off"; readonly run: OpenRun };

/** How a thread is when nothing of it is executed here. */
export type RestState = Exclude<TalkState, { readonly type: "running" }>;

/** `tickets`: what it and all runs below it wait for. */
export function restState(run: RunRecord | undefined, tickets: readonly Ticket[]): RestState {
  switch (run?.status) {
    case "waiting":
      return tickets.length > 0 ? { type: "waiting", run } : { type: "idle" };
    case "running":
    case "created":
      return { type: "cut-off", run };
    default:
      return { type: "idle" };
  }
}

/** The one that the thread is with, as far as the project still has it. */
export function actingAgent(head: ThreadHead | undefined, agents: readonly string[]): string {
  const seated = head?.state?.extensions[activeAgent.name];
  const known = [typeof seated === "string" ? seated : undefined, head?.latestRun?.agentId];
  return known.find((id) => id !== undefined && agents.includes(id)) ?? agents[0] ?? "default";
}

export interface TalkListeners {
  readonly onChange: (change: Change) => void;
  readonly onState: () => void;
}
