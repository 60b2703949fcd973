import { isDeepStrictEqual } from "node:util";
import { type JsonValue, messageToolCalls, type RunId, type ToolCall } from "@awaken/contract";
import type { MessageRecord, ScopedStore } from "@awaken/contract/store";

/** A call that ran with another input than the model gave: a person edited it. */
export interface EditedCall {
  readonly messageId: string;
  readonly toolCallId: string;
  readonly asked: JsonValue;
  readonly input: JsonValue;
}

/** The runs that wrote these messages, in their order. */
export function runsOf(records: readonly MessageRecord[]): readonly RunId[] {
  return [...new Set(records.flatMap(({ message }) => message.metadata?.runId ?? []))];
}

/** Calls of these messages whose claim has another input. What was never claimed ran as it was asked for, or not at all. */
export async function loadEdited({ ledger }: ScopedStore, records: readonly MessageRecord[]): Promise<readonly EditedCall[]> {
  const calling = records.filter(({ message }) => messageToolCalls(message).length > 0);
  const entries = (await Promise.all(runsOf(calling).map((runId) => ledger.list(runId)))).flat();
  return calling.flatMap(({ message }) =>
    messageToolCalls(message).flatMap(({ id, input: asked }) => {
      const entry = entries.find(({ messageId, toolCallId }) => messageId === message.id && toolCallId === id);
      if (entry === undefined || isDeepStrictEqual(entry.input, asked)) return [];
      return [{ messageId: message.id, toolCallId: id, asked, input: entry.input }];
    }),
  );
}

export const editOf = (edited: readonly EditedCall[], messageId: string, { id }: Pick<ToolCall, "id">): EditedCall | undefined =>
  edited.find((call) => call.messageId === messageId && call.toolCallId === id);
