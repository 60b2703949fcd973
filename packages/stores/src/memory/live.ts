import type { ScopeId } from "@awaken/contract";
import type { LiveStore } from "@awaken/contract/store";
import { openLog } from "./events.ts";
import type { Shared, Tenants } from "./tables.ts";

export const livePort = (own: ScopeId, tenants: Tenants, { parcels }: Shared): LiveStore => ({
  follow: (scope, wake) => openLog(tenants.open(own), scope).listen(wake),
  send: ({ threadId, body }) => parcels.send({ scopeId: own, parcel: { threadId, body: structuredClone(body) } }),
  listen: (receive) =>
    parcels.listen(({ scopeId, parcel }) => {
      if (scopeId === own) receive(parcel);
    }),
});
