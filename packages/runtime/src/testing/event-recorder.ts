import type { AgentEvent } from "@awaken/contract";
import { EventChecker } from "./event-checker.ts";

/** Keeps the events of one run, and fails at the first that breaks an ordering guarantee. */
export interface EventRecorder {
  /** A listener: hand it to the run, or each event of its stream to it. */
  readonly listen: (event: AgentEvent) => void;
  readonly events: readonly AgentEvent[];
  /** Those of one type. */
  of<T extends AgentEvent["type"]>(type: T): readonly Extract<AgentEvent, { type: T }>[];
  /** Throws unless the run has told its end. */
  assertEnded(): void;
}

export function recordEvents(): EventRecorder {
  const events: AgentEvent[] = [];
  const checker = new EventChecker();
  return {
    events,
    listen(event) {
      events.push(event);
      checker.see(event);
    },
    of: <T extends AgentEvent["type"]>(type: T) => events.filter((event): event is Extract<AgentEvent, { type: T }> => event.type === type),
    assertEnded: () => checker.end(),
  };
}

/** Reads a stream to its end. */
export async function recordStream(stream: AsyncIterable<AgentEvent>): Promise<EventRecorder> {
  const recorder = recordEvents();
  for await (const event of stream) recorder.listen(event);
  recorder.assertEnded();
  return recorder;
}
