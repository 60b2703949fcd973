import { errorMessage, type Log, type MessageOutbox, threadId } from "@awaken/contract";
import type { AgentMessageRequest, MessageSink } from "../../loop/message-sink.ts";
import { command } from "../../phase/command.ts";
import { failedMessages, messageOutbox } from "../../state/message-outbox.ts";
import type { RunState } from "../../state/run-state.ts";
import { failed, queued, sent } from "./outbox-changes.ts";

/** How often a message is tried. */
const MAX_ATTEMPTS = 5;

export interface OutboxScene {
  readonly state: RunState;
  /** Undefined: nobody takes messages to other threads. */
  readonly sink: MessageSink | undefined;
  readonly log: Log;
}

/** On record with the next commit; delivered after it. */
export function queueMessage(state: RunState, request: AgentMessageRequest): void {
  const { messageId: id, recipientThreadId } = request;
  const entry = { id, request: { ...request, recipientThreadId: threadId(recipientThreadId) }, attempts: 0 };
  state.commit(command().update(messageOutbox, queued([entry])));
}

type Entry = MessageOutbox["pending"][number];

function bury(state: RunState, request: Entry["request"], error: string): void {
  const change = command().update(messageOutbox, sent(request.messageId));
  state.commit(change.update(failedMessages, { type: "add", failed: { request, error } }));
}

/**
 * Delivers what is on record, in its order. What could not be delivered stays where it is and is tried again; at the fifth time it is put
 * aside for people. What was delivered and is not off the record when the process dies is delivered again, under the same id.
 */
export async function deliverOutbox({ state, sink, log }: OutboxScene): Promise<void> {
  for (const { id, request, attempts } of state.get(messageOutbox)?.pending ?? []) {
    if (sink === undefined) {
      bury(state, request, "no durable transport configured");
      continue;
    }
    try {
      await sink(request);
      state.commit(command().update(messageOutbox, sent(id)));
    } catch (thrown) {
      const error = errorMessage(thrown);
      log.warn(`a message could not be delivered: ${error}`, { messageId: id, attempts: attempts + 1 });
      if (attempts + 1 >= MAX_ATTEMPTS) bury(state, request, error);
      else state.commit(command().update(messageOutbox, failed(id)));
    }
  }
}
