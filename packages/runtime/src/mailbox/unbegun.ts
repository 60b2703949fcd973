import { AwakenError, dispatchId, type RunId } from "@awaken/contract";
import type { DispatchRecord } from "@awaken/contract/store";
import type { UnbegunRun } from "../run/holds.ts";
import type { Tenant } from "./tenant.ts";

function whyNever(id: RunId, dispatch: DispatchRecord): AwakenError {
  const details = { runId: id };
  if (dispatch.status === "dead-letter")
    return new AwakenError("dead_letter", `run '${id}' never began: ${dispatch.lastError ?? "it could not be executed"}`, { details });
  const why = dispatch.status === "acked" ? "its messages were read by another run, or taken back" : "it was cancelled";
  return new AwakenError("run_not_found", `run '${id}' never began: ${why}`, { details });
}

/** Whoever sends messages is told the id of a run that has no record before somebody begins it: its dispatch has the same one. */
export async function findUnbegun({ queue, ask }: Pick<Tenant, "queue" | "ask">, id: RunId): Promise<UnbegunRun | undefined> {
  const dispatch = await ask("load a dispatch", queue.dispatches.load(dispatchId(id)));
  if (dispatch === undefined || dispatch.runId !== id) return undefined;
  const { status, threadId } = dispatch;
  return status === "queued" || status === "claimed" ? { type: "queued", threadId } : { type: "never", error: whyNever(id, dispatch) };
}
