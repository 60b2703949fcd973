import { type AgentEvent, isJsonObject, type JsonObject, type JsonValue, type Termination, type ToolResult } from "@awaken/contract";
import { typedHint } from "../command-name.ts";
import { explainFailure } from "../explain-error.ts";
import { clean } from "../sanitize.ts";
import type { NoteTone, ToolEnd } from "./block.ts";
import type { Retry } from "./retry.ts";
import { cutText, jsonLine, RESULT_LIMIT } from "./text-limits.ts";

export function toolEnd(result: ToolResult): ToolEnd | "waiting" {
  switch (result.type) {
    case "pending":
      return "waiting";
    case "success":
      return "succeeded";
    case "error":
      if (result.code === "cancelled" || result.code === "interrupted") return "cancelled";
      return result.metadata?.["rejected"] === true ? "denied" : "failed";
  }
}

/** What the model reads of it. */
export function resultText(result: ToolResult): string {
  switch (result.type) {
    case "pending":
      return "";
    case "error":
      return cutText(clean(result.message), RESULT_LIMIT);
    case "success":
      return result.message === undefined ? jsonLine(result.data) : cutText(clean(result.message), RESULT_LIMIT);
  }
}

/** What a call that was resumed came to, in words: the reason of a refusal, the text of a failure, what the model reads otherwise. */
export function resumedText({ outcome, result, message }: Extract<AgentEvent, { type: "tool-call-resumed" }>): string {
  if (message !== undefined) return cutText(clean(message), RESULT_LIMIT);
  if (outcome === "succeeded" || !isJsonObject(result)) return jsonLine(result);
  const said = outcome === "denied" ? result["reason"] : result["error"];
  return typeof said === "string" ? jsonLine(said) : "";
}

/** Why nothing comes, in one line. */
export function retryText({ attempt, delayMs, reason }: Retry): string {
  const when = delayMs < 1_000 ? "now" : `in ${Math.round(delayMs / 1_000)} s`;
  return `the model is asked again ${when} (retry ${attempt}): ${clean(reason).replaceAll(/\s*\n\s*/g, " ")}`;
}

const isNumber = (value: JsonValue | undefined): value is number => typeof value === "number" && Number.isFinite(value);

/** `tool-call-progress` in words. */
export function progressNote({ progress, loaded, total, message }: JsonObject): string {
  const share = isNumber(progress) ? `${Math.round(Math.min(Math.max(progress, 0), 1) * 100)}%` : "";
  const count = isNumber(loaded) ? `${loaded}${isNumber(total) ? ` of ${total}` : ""}` : "";
  const said = typeof message === "string" ? clean(message).replaceAll("\n", " ") : "";
  return [share || count, said].filter((part) => part !== "").join(" ");
}

/** What is to be told about an end. A run that came to its natural end, or waits, tells it by itself. */
export function terminationNote(termination: Termination): { readonly tone: NoteTone; readonly text: string } | undefined {
  switch (termination.type) {
    case "natural-end":
    case "behavior-requested":
    case "suspended":
      return undefined;
    case "cancelled":
      return { tone: "warning", text: "cancelled" };
    case "stopped":
      return { tone: "warning", text: `stopped: ${termination.detail ?? termination.code}` };
    case "blocked":
      return { tone: "warning", text: `blocked: ${termination.reason}` };
    case "error":
      return { tone: "error", text: failureText(termination.code, termination.message) };
    default:
      return termination satisfies never;
  }
}

/** Why a run failed, and on a second line what can be done about it. */
function failureText(code: string | undefined, said: string): string {
  const { message, fix } = explainFailure(said);
  const line = errorLine(code, message);
  return fix === undefined ? line : `${line}\nfix: ${typedHint(fix, {})}`;
}

/** One line, with its code when there is one. */
export function errorLine(code: string | undefined, message: string): string {
  const line = message.replaceAll(/\s*\n\s*/g, " ");
  return code === undefined ? line : `${line} (${code})`;
}
