import type { JsonObject } from "@awaken/contract";
import { type Command, command } from "@awaken/runtime";
import { permissionPolicy } from "./policy.ts";
import { subjectOf } from "./rule.ts";

/** The action of the tickets that this plugin opens. */
export const PERMISSION_CONFIRM = "tool:PermissionConfirm";

export interface RememberOptions {
  /** The calls that the answer is for from now on, as a tool-call pattern. Default: all calls of the tool. */
  readonly rule?: string;
}

/** A part of a decision. */
export interface Remembered {
  /** What the plugin reads: `{ remember: "thread", rule? }`. */
  readonly metadata: JsonObject;
}

/**
 * Makes a decision about a permission stand for the rest of the thread: `decide(ticket, { action: "approve", ...remember() })`.
 * An approval allows, a denial denies. Throws `invalid_pattern` when the rule cannot be read.
 */
export function remember({ rule }: RememberOptions = {}): Remembered {
  if (rule !== undefined) subjectOf(rule);
  return { metadata: { remember: "thread", ...(rule === undefined ? {} : { rule }) } };
}

interface Asked {
  readonly call: { readonly name: string };
  readonly resume: DecidedCall | undefined;
}

/** What this plugin has to know of a call that waited. */
interface DecidedCall {
  readonly suspension: { readonly action: string };
  readonly decision: { readonly action: "approve" | "deny" | "answer"; readonly metadata?: JsonObject };
}

/** Whether the decision is to be remembered. */
export const isRemembered = (resume: DecidedCall | undefined): boolean =>
  resume?.suspension.action === PERMISSION_CONFIRM &&
  resume.decision.action !== "answer" &&
  resume.decision.metadata?.["remember"] === "thread";

/** A rule that came over a wire may be malformed: then an approval is for this call alone, and a denial for the whole tool. */
function readRule(rule: unknown): ReturnType<typeof subjectOf> | undefined {
  if (typeof rule !== "string") return undefined;
  try {
    return subjectOf(rule);
  } catch {
    return undefined;
  }
}

/** The rule that a decided call leaves in its thread, if it leaves one. */
export function rememberDecision({ call, resume }: Asked): Command | undefined {
  if (resume === undefined || !isRemembered(resume)) return undefined;
  const { action, metadata } = resume.decision;
  const given = metadata?.["rule"];
  const behavior = action === "approve" ? "allow" : "deny";
  const subject = readRule(given);
  if (subject?.type === "pattern")
    return command().update(permissionPolicy, { type: "set-rule", pattern: subject.pattern, behavior, source: "user" });
  if (subject === undefined && given !== undefined && behavior === "allow") return undefined;
  return command().update(permissionPolicy, { type: "set-tool", toolId: subject?.toolId ?? call.name, behavior, source: "user" });
}
