import { AwakenError, type RunId, type ThreadId } from "@awaken/contract";

/** Of two who go on with a run, or end it, the second one is told this and has changed nothing. */
export const takenUp = ({ threadId, runId }: { readonly threadId: ThreadId; readonly runId: RunId }): AwakenError =>
  new AwakenError("thread_already_running", `run '${runId}' of thread '${threadId}' was taken up by somebody else`, {
    details: { threadId, runId },
  });
