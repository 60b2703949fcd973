import { AwakenError } from "@awaken/contract";
import type { PendingQueue } from "@awaken/contract/store";
import { type Handlers, idOf, theThread } from "./served.ts";
import { viewPending } from "./views.ts";

const ETAG = /^(?:W\/)?"([^"]*)"$/;

/** What `If-Match` says, as it was read: quoted like an entity tag, or bare. */
function revisionOf(headers: Headers): string {
  const header = headers.get("if-match")?.trim() ?? "";
  const revision = ETAG.exec(header)?.[1] ?? header;
  if (revision === "") throw new AwakenError("invalid_revision", "say in the header If-Match which revision you have read");
  return revision;
}

function numberedRevision(headers: Headers): number {
  const revision = Number(revisionOf(headers));
  if (Number.isSafeInteger(revision) && revision > 0) return revision;
  throw new AwakenError("invalid_revision", "the revision of a pending message is a whole number from 1");
}

const viewQueue = ({ entries, revision }: PendingQueue) => ({ entries: entries.map(viewPending), revision });

export const pendingHandlers: Handlers<"listPending" | "editPending" | "retractPending" | "reorderPending"> = {
  async listPending(call) {
    const { id } = await theThread(call.tenant, idOf(call));
    return viewQueue(await call.tenant.runtime.pending.list(id));
  },
  async editPending(call) {
    const revision = numberedRevision(call.headers);
    const { id } = await theThread(call.tenant, idOf(call));
    const { message, deliveryMode } = call.body;
    const delivery = Object.fromEntries(Object.entries(deliveryMode ?? {}).filter(([, value]) => value !== undefined));
    return viewPending(
      await call.tenant.runtime.pending.edit(id, idOf(call, "pendingId"), {
        revision,
        ...(message === undefined ? undefined : { message }),
        ...(deliveryMode === undefined ? undefined : { deliveryMode: delivery }),
      }),
    );
  },
  async retractPending(call) {
    const revision = numberedRevision(call.headers);
    const { id } = await theThread(call.tenant, idOf(call));
    await call.tenant.runtime.pending.retract(id, idOf(call, "pendingId"), revision);
  },
  async reorderPending(call) {
    const revision = revisionOf(call.headers);
    const { id } = await theThread(call.tenant, idOf(call));
    return viewQueue(await call.tenant.runtime.pending.reorder(id, call.body.order, revision));
  },
};
