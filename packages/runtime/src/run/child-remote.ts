import { addUsage, type Backend, type ChildRun, copyJson, NO_USAGE, type RunIdentity, runId, threadId } from "@awaken/contract";
import { refuseUnsupported } from "../backend/check-profile.ts";
import type { ChildEnd, ChildOrder } from "../loop/children.ts";
import { raceAbort } from "../stream/abort.ts";
import { agentPathOf } from "./agent-path.ts";
import { cancelledResult, remoteEnding } from "./child-end.ts";
import { toMessages } from "./message-input.ts";
import type { RunParts } from "./run-parts.ts";

/** An agent that runs elsewhere: it is asked once, and nothing of it is kept. */
export async function runRemote({ ids }: RunParts, parent: RunIdentity, order: ChildOrder, backend: Backend): Promise<ChildEnd> {
  const { agentId, state, policy = "ephemeral", signal, toolCallId, hear, pass } = order;
  refuseUnsupported(agentId, [
    ...(policy === "ephemeral" ? [] : ["delegate-persistence"]),
    ...(state === undefined ? [] : ["delegate-state-seed"]),
  ]);
  const { runId: parentRunId, threadId: parentThreadId } = parent;
  const id = ids();
  const child: ChildRun = {
    runId: runId(id),
    threadId: threadId(id),
    agentId,
    agentPath: [...agentPathOf(parent), agentId],
    toolCallId,
  };
  const messages = toMessages(order.input, ids);
  order.begun(child);
  const asked = backend.run({
    ...{ role: "delegate", agentId, messages, newMessages: messages },
    emit: (said) => {
      const event = copyJson(said);
      if (event.type === "activity-snapshot") return order.report(event);
      hear?.(event);
      pass(event, child.runId);
    },
    parent: { runId: parentRunId, threadId: parentThreadId, toolCallId },
    policy: { persistence: "ephemeral", continuation: "disabled" },
    signal: backend.profile.cancellation === "none" ? new AbortController().signal : signal,
  });
  const raced = backend.profile.cancellation === "none" ? await raceAbort(asked, signal) : { type: "value" as const, value: await asked };
  const given = raced.type === "value" ? raced.value : cancelledResult(agentId);
  const result = given.usage === undefined ? given : { ...given, usage: addUsage(NO_USAGE, given.usage) };
  const unrecorded = [{ agentPath: child.agentPath, runs: 1, usage: result.usage ?? NO_USAGE }];
  return { child, result, ending: remoteEnding(result), isDurable: false, unrecorded, recorded: [] };
}
