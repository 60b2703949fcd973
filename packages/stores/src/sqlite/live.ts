import type { LiveStore } from "@awaken/contract/store";
import { bellKey, logOf } from "../sql/event-log.ts";
import type { Access } from "./access.ts";

/** Commits are heard of between processes, parcels only inside one. */
export const livePort = (access: Access): LiveStore => ({
  follow: (scope, wake) => access.channels.bells.hang(bellKey(access.scopeId, logOf(scope)), { ring: wake }),
  send: ({ threadId, body }) =>
    access.channels.parcels.send({ scopeId: access.scopeId, parcel: { threadId, body: structuredClone(body) } }),
  listen: (receive) =>
    access.channels.parcels.listen(({ scopeId, parcel }) => {
      if (scopeId === access.scopeId) receive(parcel);
    }),
});
