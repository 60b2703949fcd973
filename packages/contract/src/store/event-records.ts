import * as s from "../schema/all.ts";
import { idOf, jsonObjectSchema, runIdSchema, threadIdSchema } from "../stored.ts";
import { EVENT_SCHEMA_VERSION } from "./event-version.ts";
import { EVENT_VISIBILITIES, type EventDraft, eventCursor, type StoredEvent } from "./events.ts";
import { defineRecord } from "./record.ts";
import { nonBlankSchema, timeSchema } from "./row-schemas.ts";

const cursorSchema = s.transform(s.string(), (value) => eventCursor(value));
const body = {
  schemaVersion: s.literal(EVENT_SCHEMA_VERSION),
  kind: nonBlankSchema,
  payload: jsonObjectSchema,
  visibility: s.enum(EVENT_VISIBILITIES),
  origin: nonBlankSchema,
  causationId: s.exactOptional(s.string()),
  correlationId: s.exactOptional(s.string()),
};
const stored = {
  eventId: idOf("event"),
  cursors: s.strictObject({ thread: s.exactOptional(cursorSchema), run: s.exactOptional(cursorSchema) }),
  createdAt: timeSchema,
};
/* @__NO_SIDE_EFFECTS__ */
const targeted = <Extra extends s.Fields>(extra: Extra) =>
  s.union([
    s.strictObject({ ...body, ...extra, threadId: threadIdSchema, runId: s.exactOptional(runIdSchema) }),
    s.strictObject({ ...body, ...extra, runId: runIdSchema }),
  ]);

export const draftSchema = targeted({});

export const eventDraft = defineRecord<EventDraft>({
  name: "event",
  version: EVENT_SCHEMA_VERSION,
  schema: draftSchema,
  accepts: s.guardOf<EventDraft>(draftSchema),
});

export const storedEvent = defineRecord<StoredEvent>({
  name: "event",
  version: EVENT_SCHEMA_VERSION,
  schema: /* @__PURE__ */ targeted(stored).check(
    s.refine(
      ({ cursors, ...event }) => "threadId" in event === (cursors.thread !== undefined) && "runId" in event === (cursors.run !== undefined),
      "an event has one cursor for each of its scopes",
    ),
  ),
});
