import type { JsonValue, Suspension, ToolResult } from "@awaken/contract";

/** What a gate, or a tool's own `approve`, says about a call. Saying nothing is the same as `allow`. */
export type Verdict =
  | { readonly type: "allow" }
  | {
      readonly type: "block";
      /** The run ends as blocked with it. */
      readonly reason: string;
    }
  | {
      readonly type: "deny";
      /** The model reads it. */
      readonly reason: string;
    }
  | {
      readonly type: "suspend";
      /** What the call waits for. */
      readonly suspension: Suspension;
    }
  | {
      readonly type: "answer";
      /** What the call gives instead of running. */
      readonly result: ToolResult;
    };

/** A verdict that keeps the tool from running. */
export type Intercept = Exclude<Verdict, { type: "allow" }>;

/** Refuses the call and ends the run. */
export const block = (reason: string): Intercept => ({ type: "block", reason });

/** Refuses the call: the model reads why, and the run goes on. No approval changes it. */
export const deny = (reason: string): Intercept => ({ type: "deny", reason });

/** Waits for a person to approve the call; on approval the tool runs with the original or the edited input. */
export function ask(
  message: string,
  more: Omit<Suspension, "id" | "expiresAt" | "message" | "action"> & {
    /** What is asked for, for programs. Default `approve`. */
    readonly action?: string;
  } = {},
): Intercept {
  return { type: "suspend", suspension: { action: "approve", ...more, message } };
}

/** Waits for whatever the suspension describes. */
export const suspend = (suspension: Omit<Suspension, "id" | "expiresAt">): Intercept => ({ type: "suspend", suspension });

/** Gives the call this result; the tool does not run. */
export const answer = (data: JsonValue, message?: string): Intercept => ({
  type: "answer",
  result: { type: "success", data, ...(message === undefined ? {} : { message }) },
});
