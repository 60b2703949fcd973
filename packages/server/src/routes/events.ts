import type { QueryOf, Routes } from "@awaken/contract/http";
import { clampLimit, type EventCursor, type EventScope, eventCursor } from "@awaken/contract/store";
import type { AttachOptions } from "@awaken/runtime";
import { openEnded, openEvents } from "./open-events.ts";
import { type Call, type Handlers, idOf, type Tenant, theRun, theThread } from "./served.ts";
import { viewEvent } from "./views.ts";

interface Listing {
  readonly tenant: Tenant;
  readonly scope: EventScope;
  readonly query: QueryOf<Routes["listThreadEvents"]>;
  readonly isAdmin: boolean;
}

/** Only whoever runs the server sees what is not for the public. */
async function listEvents({ tenant, scope, query, isAdmin }: Listing) {
  const { cursor, limit } = query;
  const { items, next } = await tenant.records.events.list(scope, {
    limit: clampLimit(limit),
    ...(cursor === undefined ? undefined : { after: logCursor(cursor) }),
    ...(isAdmin ? undefined : { visibilities: ["public"] as const }),
  });
  return {
    items: items.flatMap((event) => {
      const at = event.cursors[scope.type];
      return at === undefined ? [] : [viewEvent(event, at)];
    }),
    hasMore: next !== undefined,
    ...(next === undefined ? undefined : { nextCursor: next }),
  };
}

/** Blank is refused: whoever lost his place should know. */
const logCursor = (cursor: string): EventCursor => eventCursor(cursor);

/** Where a reader goes on: what the query says, else what his browser remembers, else where he asks to begin. */
function placeOf({ query, headers }: Pick<Call<Routes["streamThreadEvents"]>, "query" | "headers">): AttachOptions {
  const after = query.cursor ?? headers.get("last-event-id") ?? undefined;
  return {
    ...(after === undefined ? undefined : { after }),
    ...(query.from === undefined ? undefined : { from: query.from }),
  };
}

export const eventHandlers: Handlers<"listThreadEvents" | "streamThreadEvents" | "listRunEvents" | "streamRunEvents"> = {
  async listThreadEvents(call) {
    const { tenant, query, isAdmin } = call;
    const { id } = await theThread(tenant, idOf(call));
    return listEvents({ tenant, scope: { type: "thread", threadId: id }, query, isAdmin });
  },
  async listRunEvents(call) {
    const { tenant, query, isAdmin } = call;
    const { runId } = await theRun(tenant, idOf(call));
    return listEvents({ tenant, scope: { type: "run", runId }, query, isAdmin });
  },
  async streamThreadEvents(call) {
    const { id } = await theThread(call.tenant, idOf(call));
    return { events: await openEvents(call.tenant.runtime, id, placeOf(call)), threadId: id };
  },
  async streamRunEvents(call) {
    const { runId, threadId, status } = await theRun(call.tenant, idOf(call));
    const open = status === "done" ? openEnded : openEvents;
    const events = await open(call.tenant.runtime, runId, placeOf(call));
    return events === undefined ? undefined : { events, runId, threadId };
  },
};
