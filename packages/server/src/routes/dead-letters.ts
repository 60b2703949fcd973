import { dispatchId } from "@awaken/contract";
import { clampLimit } from "@awaken/contract/store";
import { pairOf, readCursor, writeCursor } from "../http/cursors.ts";
import { type Handlers, idOf } from "./served.ts";

/** Of the tenant of whoever runs the server. */
export const deadLetterHandlers: Handlers<"listDeadLetters" | "replayDeadLetter" | "dropDeadLetter"> = {
  async listDeadLetters({ tenant, query }) {
    const place = pairOf(readCursor("dead", query.cursor, {}));
    const after = place === undefined ? undefined : { createdAt: place[0], dispatchId: dispatchId(place[1]) };
    const { items, next } = await tenant.runtime.deadLetters.list({
      limit: clampLimit(query.limit),
      ...(after === undefined ? undefined : { after }),
    });
    return {
      items: [...items],
      hasMore: next !== undefined,
      ...(next === undefined ? undefined : { nextCursor: writeCursor("dead", [next.createdAt, next.dispatchId], {}) }),
    };
  },
  async replayDeadLetter(call) {
    const { runId, threadId } = await call.tenant.runtime.deadLetters.replay(idOf(call));
    return { runId, threadId };
  },
  async dropDeadLetter(call) {
    await call.tenant.runtime.deadLetters.drop(idOf(call));
  },
};
