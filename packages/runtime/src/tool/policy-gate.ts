import type { Gate, Policy } from "./gate.ts";

/** A policy as a gate. */
export function policyGate(policy: Policy): Gate {
  return async ({ identity, call, toolKind }) => {
    const verdict = await policy({
      threadId: identity.threadId,
      runId: identity.runId,
      dispatchId: identity.dispatchId,
      runMode: identity.runMode,
      adapter: identity.adapter,
      toolName: call.name,
      toolKind,
      input: call.input,
    });
    return verdict.type === "audit" ? undefined : verdict;
  };
}
