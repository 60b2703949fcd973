import { isJsonObject, type JsonObject, type Ticket } from "@awaken/contract";
import type { LoopResult } from "../loop/finish.ts";

/** A ticket whose input can be edited by spreading it: one that is no object stands under `value`. */
export interface RunTicket extends Ticket {
  readonly input: JsonObject;
}

/** How a run ended or where it waits. */
export interface RunResult<O = unknown> extends Omit<LoopResult, "output" | "tickets"> {
  readonly tickets: readonly RunTicket[];
  /** The typed answer of a run that asked for one and got it. */
  readonly output: O | undefined;
}

const toRunTicket = (ticket: Ticket): RunTicket => ({
  ...ticket,
  input: isJsonObject(ticket.input) ? ticket.input : { value: ticket.input },
});

export function toRunResult<O>(ended: LoopResult, output: O | undefined): RunResult<O> {
  return { ...ended, tickets: ended.tickets.map(toRunTicket), output };
}
