import { AwakenError } from "../error.ts";
import type { ThreadId } from "../ids.ts";
import type { JsonObject } from "../json.ts";
import * as s from "../schema/all.ts";
import { jsonObjectSchema, runIdSchema, threadIdSchema } from "../stored.ts";
import { recordCheck } from "./record-check.ts";
import { nonBlankSchema, positionSchema, timeSchema } from "./row-schemas.ts";
import { newThread, THREAD_SCHEMA_VERSION, type ThreadRecord } from "./thread-projection.ts";

export const threadSchema = s
  .strictObject({
    schemaVersion: s.literal(THREAD_SCHEMA_VERSION),
    id: threadIdSchema,
    resourceId: s.exactOptional(nonBlankSchema),
    parentThreadId: s.exactOptional(threadIdSchema),
    metadata: s.strictObject({
      createdAt: timeSchema,
      updatedAt: timeSchema,
      title: s.exactOptional(s.string()),
      custom: jsonObjectSchema,
    }),
    activeRunId: s.exactOptional(runIdSchema),
    openRunId: s.exactOptional(runIdSchema),
    latestRun: s.exactOptional(s.strictObject({ id: runIdSchema, updatedAt: timeSchema, ordinal: positionSchema })),
  })
  .check(s.refine((thread) => thread.parentThreadId !== thread.id, "a thread cannot be its own parent"));

export const threadKind = {
  name: "thread",
  version: THREAD_SCHEMA_VERSION,
  schema: threadSchema,
  accepts: s.guardOf<ThreadRecord>(threadSchema),
};

const checkThread = recordCheck<ThreadRecord>(threadKind);

export interface NewThread {
  readonly id: ThreadId;
  readonly resourceId?: string;
  readonly parentThreadId?: string;
  readonly title?: string;
  readonly custom?: JsonObject;
}

/** An absent field is kept, null clears it; the keys of `custom` are merged and never removed. */
export interface ThreadPatch {
  readonly title?: string | null;
  readonly resourceId?: string | null;
  readonly parentThreadId?: string | null;
  readonly custom?: JsonObject;
}

/** A checked record; blank strings count as absent. */
export function toThreadRecord(init: NewThread, now: number): ThreadRecord {
  const { id, resourceId, parentThreadId, title, custom } = init;
  const fresh = newThread(id, now);
  // What most commits begin with.
  const isBare = resourceId === undefined && parentThreadId === undefined && title === undefined && custom === undefined;
  return isBare && threadIdSchema.fits(id, 0) ? fresh : patchThread(fresh, init, now);
}

export function patchThread(thread: ThreadRecord, patch: ThreadPatch, now: number): ThreadRecord {
  const { resourceId, parentThreadId, metadata, ...kept } = thread;
  const { title, ...times } = metadata;
  return checkThread({
    ...kept,
    ...present("resourceId", patched(patch.resourceId, resourceId)),
    ...present("parentThreadId", patched(patch.parentThreadId, parentThreadId)),
    metadata: {
      ...times,
      ...present("title", patched(patch.title, title)),
      updatedAt: now,
      custom: { ...metadata.custom, ...patch.custom },
    },
  });
}

const patched = (patch: string | null | undefined, old: string | undefined): string | undefined =>
  patch === undefined ? old : patch?.trim() || undefined;

const present = (key: string, value: string | undefined): JsonObject => (value === undefined ? {} : { [key]: value });

/**
 * Throws `storage_validation` unless `thread` may stand where it says. `ancestors` are the ids from its parent up to the root, as far as
 * they exist, read in the transaction that writes the thread.
 */
export function checkLineage(thread: ThreadRecord, ancestors: readonly ThreadId[]): void {
  const { id, parentThreadId } = thread;
  if (parentThreadId === undefined) return;
  if (ancestors[0] !== parentThreadId) {
    throw new AwakenError("storage_validation", `parent '${parentThreadId}' of thread '${id}' does not exist`, { details: { id } });
  }
  if (ancestors.includes(id)) throw new AwakenError("storage_validation", `thread '${id}' would be its own ancestor`, { details: { id } });
}
