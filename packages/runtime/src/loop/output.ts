import { isJson, type JsonValue, toJson, type Validated } from "@awaken/contract";
import { isPromise } from "../stream/bounds.ts";
import { note } from "./messages.ts";
import type { OutputSpec, RunContext } from "./run-context.ts";

const FENCE = "```";

/** What stands inside a code fence, when the whole answer is one. */
function unfenced(text: string): string {
  const whole = text.trim();
  const start = whole.indexOf("\n");
  if (start === -1 || !whole.startsWith(FENCE) || !whole.endsWith(FENCE)) return text;
  return whole.slice(start + 1, -FENCE.length);
}

function parse(text: string): { readonly value: unknown } | { readonly problem: string } {
  try {
    return { value: JSON.parse(unfenced(text)) };
  } catch {
    return { problem: "it is not JSON" };
  }
}

/** The answer for the record: as the schema made it, or as the model wrote it when JSON cannot carry what the schema made. */
function recorded(value: unknown, text: string): JsonValue {
  if (isJson(value)) return value;
  try {
    return toJson(value);
  } catch {
    return JSON.parse(unfenced(text));
  }
}

async function checkAnswer({ bounds }: RunContext, output: OutputSpec, value: unknown): Promise<Validated<unknown>> {
  const checking = output.validate(value);
  if (!isPromise(checking)) return checking;
  return bounds.wait(checking, { limit: "schemaMs", onAbort: "leave", name: () => "the schema of the answer" });
}

/** Checks the answer against the schema that the run asked for. One that does not fit goes back to the model, within the step limit. */
export async function settleOutput(ctx: RunContext): Promise<"settled" | "again"> {
  const { output } = ctx.options;
  if (output === undefined) return "settled";
  const parsed = parse(ctx.tally.response);
  const checked =
    "problem" in parsed ? ({ type: "invalid", message: parsed.problem } as const) : await checkAnswer(ctx, output, parsed.value);
  if (checked.type === "valid") {
    ctx.tally.output = { value: recorded(checked.value, ctx.tally.response) };
    return "settled";
  }
  ctx.transcript.append(
    note(ctx, `The answer does not fit the required schema: ${checked.message}. Answer again with JSON that fits, and nothing else.`),
  );
  return "again";
}
