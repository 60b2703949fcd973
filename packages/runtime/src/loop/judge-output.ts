import { copyJson, isJson, type JsonValue, toJson, type Validated } from "@awaken/contract";
import { command } from "../phase/command.ts";
import { isPromise } from "../stream/bounds.ts";
import { note } from "./note.ts";
import { OUTPUT_RETRIES, outputRetries } from "./output.ts";
import type { Judged, OutputCheck, RunContext } from "./run-context.ts";

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

/** The answer for the record, which the one that the caller gets is not: as the schema made it, or as the model wrote it when JSON cannot carry what the schema made. */
function recorded(value: unknown, text: string): JsonValue {
  if (isJson(value)) return copyJson(value);
  try {
    return toJson(value);
  } catch {
    return JSON.parse(unfenced(text));
  }
}

async function checkAnswer({ bounds }: RunContext, checkOutput: OutputCheck, value: unknown): Promise<Validated<unknown>> {
  const checking = checkOutput(value);
  if (!isPromise(checking)) return checking;
  return bounds.wait(checking, { limit: "schemaMs", onAbort: "leave", name: () => "the schema of the answer" });
}

const invalid = (message: string) => ({ type: "invalid", message }) as const;

async function check(ctx: RunContext, checkOutput: OutputCheck): Promise<Validated<unknown>> {
  // An answer that was given before counts no more.
  ctx.tally.output = undefined;
  const { response } = ctx.tally;
  const parsed = parse(response);
  if ("problem" in parsed) return invalid(parsed.problem);
  const checked = await checkAnswer(ctx, checkOutput, parsed.value);
  if (checked.type === "invalid") return checked;
  const value = recorded(checked.value, response);
  if (!isJson(value)) return invalid("it is nested too deeply to be stored");
  ctx.tally.output = { value };
  return checked;
}

/** One that does not fit goes back to the model, or ends the run. */
export async function judge(ctx: RunContext, checkOutput: OutputCheck): Promise<Judged> {
  const checked = await check(ctx, checkOutput);
  if (checked.type === "valid") return "fits";
  const asked = ctx.state.get(outputRetries)?.count ?? 0;
  if (asked >= (ctx.options.outputRetries ?? OUTPUT_RETRIES)) {
    const times = asked === 1 ? "once" : `${asked} times`;
    const tried = asked === 0 ? "" : `, after it was asked for again ${times}`;
    return { type: "error", code: "output_invalid", message: `the answer does not fit the required schema${tried}: ${checked.message}` };
  }
  ctx.state.commit(command().update(outputRetries, 1));
  ctx.transcript.append(
    note(ctx, `The answer does not fit the required schema: ${checked.message}. Answer again with JSON that fits, and nothing else.`),
  );
  return "again";
}

/** A plugin ended the run: what was said until then is the answer, if it fits. Nobody is asked again. */
export async function judgeEarly(ctx: RunContext, checkOutput: OutputCheck): Promise<void> {
  await check(ctx, checkOutput);
}
