import type { TelemetryEvent } from "./events.ts";
import type { Sink } from "./sink.ts";

export interface MemorySink extends Sink {
  /** What was recorded, oldest first. */
  readonly events: readonly TelemetryEvent[];
  /** Forgets it. */
  clear(): void;
}

/** Keeps what is recorded, for tests and for a look from inside; the oldest go when it is full. */
export function memorySink(capacity = 10_000): MemorySink {
  const events: TelemetryEvent[] = [];
  return {
    name: "memory",
    events,
    record(event) {
      events.push(event);
      if (events.length > capacity) events.shift();
    },
    clear() {
      events.length = 0;
    },
  };
}
