import type { LiveStore } from "@awaken/contract/store";
import { openLog } from "./events.ts";
import type { Tables } from "./tables.ts";

export const livePort = (tables: Tables): LiveStore => ({
  follow: (scope, wake) => openLog(tables, scope).listen(wake),
  send: ({ threadId, body }) => tables.parcels.send({ scopeId: tables.scopeId, parcel: { threadId, body: structuredClone(body) } }),
  listen: (receive) =>
    tables.parcels.listen(({ scopeId, parcel }) => {
      if (scopeId === tables.scopeId) receive(parcel);
    }),
});
