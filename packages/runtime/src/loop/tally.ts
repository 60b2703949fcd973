import type { JsonValue, Usage } from "@awaken/contract";
import type { RunPlan } from "./run-plan.ts";

/** Counts that continue when the same run is resumed. */
export interface Tally {
  steps: number;
  usage: Usage;
  /** Text of the newest assistant message of this run. */
  response: string;
  /** The validated answer, once there is one. */
  output: { readonly value: JsonValue } | undefined;
  /** A step whose end is committed and told together with what follows it. */
  unsettledStep: number | undefined;
  /** What the messages of a request may weigh under this plan, since one was refused as too long. */
  requestLimit: { readonly plan: RunPlan; readonly tokens: number } | undefined;
}
