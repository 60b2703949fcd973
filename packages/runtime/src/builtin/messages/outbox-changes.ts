import type { MessageOutbox } from "@awaken/contract";
import type { OutboxUpdate } from "../../state/message-outbox.ts";

type Entry = MessageOutbox["pending"][number];

/** Behind what waits already, each once. */
export const queued =
  (entries: readonly Entry[]): OutboxUpdate =>
  ({ pending }) => ({ pending: [...pending, ...entries.filter(({ id }) => !pending.some((entry) => entry.id === id))] });

export const sent =
  (id: string): OutboxUpdate =>
  ({ pending }) => ({ pending: pending.filter((entry) => entry.id !== id) });

export const failed =
  (id: string): OutboxUpdate =>
  ({ pending }) => ({ pending: pending.map((entry) => (entry.id === id ? { ...entry, attempts: entry.attempts + 1 } : entry)) });
