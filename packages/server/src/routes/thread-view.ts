import { type Message, messageId, threadId } from "@awaken/contract";
import type { MessageRecord } from "@awaken/contract/store";
import type { Tenant } from "./served.ts";

const PAGE = 200;

/** A row of the log, and whether a rewind took it out of view. */
export interface ViewedRow extends MessageRecord {
  readonly isTaken: boolean;
}

/** Rows from the newest to the oldest. Reads no further than it is asked for. */
export async function* rowsBackwards({ records }: Pick<Tenant, "records">, thread: string): AsyncGenerator<ViewedRow, void, undefined> {
  let takenFrom = Number.POSITIVE_INFINITY;
  let beforeSeq: number | undefined;
  for (;;) {
    const { items, next } = await records.messages.list(threadId(thread), {
      order: "descending",
      visibility: "all",
      limit: PAGE,
      ...(beforeSeq === undefined ? undefined : { beforeSeq }),
    });
    for (const row of items) {
      const isTaken = row.seq >= takenFrom;
      yield { ...row, isTaken };
      if (!isTaken) takenFrom = row.message.metadata?.rewind?.fromSeq ?? Number.POSITIVE_INFINITY;
    }
    if (next === undefined) return;
    beforeSeq = next;
  }
}

/** The id by which the client knows a message. */
export const clientIdOf = ({ id, metadata }: Message): string => metadata?.clientId ?? id;

export interface FoundMessage {
  readonly message: Message;
  /** The last user message before it, or itself. */
  readonly asked: Message | undefined;
}

/** A message that is in view, by the id that the client has for it; without one, the last that a user said. */
export async function findMessage(tenant: Tenant, thread: string, id: string | undefined): Promise<FoundMessage | undefined> {
  let found: Message | undefined;
  for await (const { message, isTaken } of rowsBackwards(tenant, thread)) {
    if (isTaken || message.visibility === "internal") continue;
    if (found === undefined && (id === undefined ? message.role === "user" : clientIdOf(message) === id)) found = message;
    if (found !== undefined && message.role === "user") return { message: found, asked: message };
  }
  return found === undefined ? undefined : { message: found, asked: undefined };
}

/** Those of the ids that the log has, in view or not. */
export async function knownIds({ records }: Tenant, thread: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const rows = await records.messages.load(
    threadId(thread),
    ids.map((id) => messageId(id)),
  );
  return new Set(rows.map(({ message }) => message.id));
}
