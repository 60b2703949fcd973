import { type AgentEvent, AwakenError, type BackendResult, copyJson, type RunId, statusLabel, type ToolCallId } from "@awaken/contract";
import { CHILD_RUN } from "../commit/tickets.ts";
import { countBelow } from "../commit/used-below.ts";
import type { ChildRequest, ChildResult, RunAgent } from "../tool/child-result.ts";
import { tellEnd } from "./child-end.ts";
import { childStream } from "./child-stream.ts";
import type { ChildEnd } from "./children.ts";
import type { LiveCall } from "./live-call.ts";
import { isProgressOf } from "./progress-of.ts";
import type { Calling, RunContext } from "./run-context.ts";

/** What a call waits with, until the run of this end is over. */
function waitFor({ child, isDurable, result }: ChildEnd): Extract<ChildResult, { status: "waiting" }>["suspension"] {
  const { runId: childRunId, agentId } = child;
  const message = "message" in result.status ? { message: result.status.message ?? "" } : undefined;
  if (isDurable) return { action: CHILD_RUN, parameters: { childRunId, agentId }, resumeMode: "pass-decision-to-tool" };
  const asked = { "waiting-input": "input-required", "waiting-auth": "auth-required" } as const;
  const kind = result.status.type === "waiting-input" || result.status.type === "waiting-auth" ? asked[result.status.type] : "suspended";
  const parameters = { agentId, backendStatus: statusLabel(result.status), childRunId, toolCallId: child.toolCallId ?? "" };
  return { action: `agent-delegate:${kind}`, ...message, parameters, resumeMode: "use-decision-as-tool-result" };
}

const factsOf = ({ agentId, runId, status, response, output, steps, usage, state, threadState }: BackendResult) => ({
  agentId,
  label: statusLabel(status),
  text: output.text ?? response ?? "",
  output,
  steps,
  ...(runId === undefined ? undefined : { runId }),
  ...(usage === undefined ? undefined : { usage: { ...usage } }),
  ...(state === undefined ? undefined : { state }),
  ...(threadState === undefined ? undefined : { threadState }),
});

/** What tool code is told of a child. */
export function childResult(end: ChildEnd): ChildResult {
  const { result } = end;
  const facts = factsOf(result);
  switch (result.status.type) {
    case "completed":
      return { ...facts, status: "done" };
    case "failed":
      return { ...facts, status: "failed", error: result.status.message };
    case "cancelled":
    case "timeout":
      return { ...facts, status: result.status.type };
    case "waiting-input":
    case "waiting-auth":
    case "suspended":
      return { ...facts, status: "waiting", suspension: waitFor(end) };
  }
}

/**
 * Of what happens in a child, its parent's listeners hear of tickets and decisions, at any depth, and of the progress of its own calls.
 * Everything else is heard by following the child.
 */
function passOn(ctx: RunContext, event: AgentEvent, child: RunId): void {
  const { type } = event;
  if (type === "ticket-open" || type === "decision-taken") ctx.tell(event);
  else if (type === "activity-snapshot" && isProgressOf(child, event)) ctx.tell(event);
}

/** One call may ask the same of the same agent more than once; every attempt of the call asks in the same order. */
class ChildKeys {
  readonly #call: string;
  readonly #asked = new Map<string, number>();

  constructor(call: string) {
    this.#call = call;
  }

  next({ agent, input, state }: ChildRequest): string {
    const about = JSON.stringify([agent, input, state ?? null]);
    const times = this.#asked.get(about) ?? 0;
    this.#asked.set(about, times + 1);
    return JSON.stringify([this.#call, about, times]);
  }
}

/** What a tool starts other agents with. */
export function agentRunner(ctx: RunContext, live: LiveCall, { signal, idempotencyKey, traceParent }: Calling): RunAgent {
  const { call } = live;
  const isFirst = !live.isReplay && live.resume === undefined && ctx.ledger?.isFirstTry(live) === true;
  let keys: ChildKeys | undefined;
  return async (request) => {
    const { agent: agentId, input, policy, mustComplete = false } = request;
    const state = copyJson(request.state);
    keys ??= new ChildKeys(idempotencyKey);
    const key = keys.next(request);
    const toolCallId: ToolCallId = call.id;
    const stream = childStream(ctx, call, request);
    let isBegun = false;
    const end = await ctx.children.run({
      ...{ agentId, input, state, policy, key, toolCallId, traceParent, signal, isFirst },
      begun: (child) => {
        isBegun = true;
        ctx.tally.begunBelow();
        ctx.emit({ type: "child-start", ...child });
      },
      hear: stream === undefined ? undefined : (event) => stream.hear(event),
      pass: (event, child) => passOn(ctx, event, child),
      report(event) {
        ctx.progress.report(event);
        ctx.tell(event);
      },
    });
    // One that was not begun here was begun by an earlier attempt.
    if (!isBegun) ctx.tally.begunBelow();
    countBelow(ctx.tally, end);
    tellEnd(ctx, end);
    stream?.end(end.result);
    const result: ChildResult = stream === undefined ? childResult(end) : { ...childResult(end), streamed: stream.text };
    if (!mustComplete || result.status === "done") return result;
    throw new AwakenError("child_not_completed", `child agent did not complete: ${result.label}`, {
      details: {
        agentId,
        status: result.status,
        label: result.label,
        ...(result.runId === undefined ? undefined : { runId: result.runId }),
      },
      cause: result,
    });
  };
}
