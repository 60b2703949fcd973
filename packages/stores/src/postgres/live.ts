import type { LiveStore } from "@awaken/contract/store";
import { logOf } from "../sql/event-log.ts";
import type { Access } from "./access.ts";

export const livePort = ({ scopeId, wire }: Pick<Access, "scopeId" | "wire">): LiveStore => ({
  follow: (scope, wake) => wire.wake(scopeId, logOf(scope), { ring: wake }),
  send: ({ threadId, body }) => wire.sendParcel({ scopeId, parcel: { threadId, body: structuredClone(body) } }),
  listen: (receive) =>
    wire.parcels((scoped) => {
      if (scoped.scopeId === scopeId) receive(scoped.parcel);
    }),
});
