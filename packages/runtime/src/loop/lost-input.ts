import type { Inferred } from "../inference/infer.ts";
import { note } from "./note.ts";
import type { RunContext } from "./run-context.ts";

const MALFORMED =
  "One or more tool calls had arguments that are not valid JSON and were not executed. Send them again with valid arguments if they are still needed.";

/** Calls that did not come whole: the model hears that it may make them again. */
export function tellLost(ctx: RunContext, { turn, lostCall }: Inferred): void {
  if (lostCall !== undefined) {
    ctx.transcript.append(
      note(ctx, `The call of '${lostCall.name}' was lost when the stream broke; issue it again if it is still needed.`),
    );
  }
  if (turn.malformedCalls.length > 0) ctx.transcript.append(note(ctx, MALFORMED));
}
