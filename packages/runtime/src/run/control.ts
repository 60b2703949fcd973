import { AwakenError, checkOptions, describeType, type Message, type PartRules, RULES } from "@awaken/contract";
import type { ActiveRun } from "./active-runs.ts";
import type { TenantParts } from "./run-parts.ts";

const CANCEL_WAIT_MS = 5_000;

export interface WaitOptions {
  /** How long to wait for a run that another process executes, or that was cut off. Default 5 minutes. */
  readonly timeoutMs?: number;
}

export const WAIT_OPTIONS: PartRules<WaitOptions> = { timeoutMs: RULES.millis };

/** A run id or a thread id. A blank one names nothing. */
function checkControlId(id: unknown): void {
  if (typeof id === "string") return;
  throw new AwakenError("invalid_id", `the id of a run or thread must be a string, got ${describeType(id)}`);
}

/** Tells a run to stop: an active one in the synchronous part of the call; one that waits is taken up only to be ended. */
export async function stop(parts: TenantParts, id: string): Promise<ActiveRun | undefined> {
  checkControlId(id);
  const found = parts.active.find(id);
  if (found.type === "found") {
    found.run.cancel();
    return found.run;
  }
  if (found.type === "ambiguous") parts.log.warn(`cancel: '${id}' names two runs, none is cancelled`);
  if (found.type === "ambiguous" || id.trim() === "") return undefined;
  return parts.more.stopWaiting(parts, id);
}

/** True when a run was found and told to stop. An id that names two runs stops none. */
export async function cancel(parts: TenantParts, id: string): Promise<boolean> {
  return (await stop(parts, id)) !== undefined;
}

/** Who ends runs that nobody executes here, and waits for that. */
export type EndElsewhere = (id: string, timeoutMs: number) => Promise<boolean>;

/** Cancels and waits until the thread is free. False when there is no run, or it did not stop in time. */
export async function cancelAndWait(
  parts: TenantParts,
  id: string,
  options: WaitOptions = {},
  elsewhere?: EndElsewhere | undefined,
): Promise<boolean> {
  checkOptions("invalid_activation", "cancelAndWait", options, WAIT_OPTIONS);
  const { timeoutMs = CANCEL_WAIT_MS } = options;
  const run = await stop(parts, id);
  if (run === undefined) return elsewhere === undefined ? false : elsewhere(id, timeoutMs);
  return parts.more.isReleased(parts, run, timeoutMs);
}

/** Puts messages into a run that is active. False when there is none, or it is over. */
export function send(parts: TenantParts, id: string, messages: readonly Message[]): boolean {
  checkControlId(id);
  const found = parts.active.find(id);
  if (found.type !== "found" || messages.length === 0) return false;
  return found.run.inbox.push({ type: "messages", messages });
}
