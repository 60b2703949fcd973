import { type JsonObject, type Message, messageId, runId, scopeId, threadId } from "@awaken/contract";
import { type EventAppend, type EventVisibility, messageFact, type ScopedHint } from "@awaken/contract/store";
import { expect, test } from "vitest";
import { Parcels } from "../parcels.ts";
import { Broadcast } from "./broadcast.ts";
import { Tags } from "./event-log.ts";
import { appendEvents, readAll } from "./events.ts";
import { Journal } from "./journal.ts";
import { type ScopedConfigKey, Tenants, threadRow } from "./tables.ts";

const content = [{ type: "text", text: "hi" }] as const;
const messages: Message[] = [
  { id: messageId("m1"), role: "user", content },
  { id: messageId("m2"), role: "system", visibility: "internal", content },
];

test("an event that a message is in the log is read as it was given, though the message is kept for it", () => {
  const broadcasts = { hints: new Broadcast<ScopedHint>(), configChanges: new Broadcast<ScopedConfigKey>() };
  const tenants = new Tenants({ clock: () => 0, ids: () => "id", tags: new Tags("seed"), parcels: new Parcels(), ...broadcasts });
  const tables = tenants.open(scopeId("s"));
  const [T, R] = [threadId("t"), runId("r")];
  const row = threadRow(tables, T);
  row.messages = messages;
  const place = { schemaVersion: 1, kind: "message-committed", threadId: T, runId: R, origin: "runtime" } as const;
  const append = (payload: JsonObject, visibility: EventVisibility = "public"): EventAppend => ({
    draft: { ...place, payload, visibility },
  });
  const appends = [
    ...messages.map((message, index) => append(messageFact(message, index + 1), message.visibility === "internal" ? "internal" : "public")),
    append({ messageId: "another", messageSeq: 1 }),
    append({}, "audit"),
  ];
  const change = { tables, journal: new Journal(), now: 5 };
  const appended = appendEvents(change, appends, { copies: undefined, row });
  const read = readAll(appended);
  expect(read.map(({ eventId: _, cursors, createdAt, ...own }) => ({ own, cursors, createdAt }))).toStrictEqual(
    appends.map((append, index) => ({
      own: append.draft,
      cursors: { thread: `seed1-${index + 1}`, run: `seed2-${index + 1}` },
      createdAt: 5,
    })),
  );
  expect(appended[0]?.batch.items).toContain(messages[0]);
});
