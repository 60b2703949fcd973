import {
  isJsonObject,
  type RunId,
  type RunIdentity,
  runId,
  type Suspension,
  type Ticket,
  type TicketId,
  type ToolCall,
  type ToolCallId,
  type ToolCallState,
} from "@awaken/contract";
import { callsOf, type TicketSource } from "./ticket-source.ts";

/** What a call asks for that waits for a run which it started: nobody decides about it, the end of that run does. */
export const CHILD_RUN = "child-run";

/** The run that a suspended call waits for. */
export function childOf(suspension: Pick<Suspension, "action" | "parameters"> | undefined): RunId | undefined {
  const { action, parameters } = suspension ?? {};
  if (action !== CHILD_RUN || !isJsonObject(parameters)) return undefined;
  const { childRunId } = parameters;
  return typeof childRunId === "string" ? runId(childRunId) : undefined;
}

type AskingRun = Pick<RunIdentity, "runId" | "threadId" | "agentId" | "parentRunId" | "rootRunId" | "agentPath">;

/** A call that asks, whether it is known from the state or from the log. */
interface AskingCall extends ToolCall {
  readonly resumeMode: Ticket["resumeMode"];
  readonly suspension: Suspension & { readonly id: TicketId };
  readonly updatedAt: number;
}

/** An approval is about what would run; where the decision is the result, or is read by the tool, the input is not what is asked about. */
export const canEdit = ({ suspension, resumeMode }: Pick<AskingCall, "suspension" | "resumeMode">): boolean =>
  resumeMode !== "use-decision-as-tool-result" && (suspension.canEdit ?? resumeMode === "replay-tool-call");

function makeTicket(run: AskingRun, call: AskingCall): Ticket {
  const { runId, threadId, agentId, parentRunId, rootRunId = parentRunId ?? runId } = run;
  const agentPath = run.agentPath ?? (parentRunId === undefined ? [agentId] : undefined);
  const { id, action, message, parameters, responseSchema, expiresAt } = call.suspension;
  return {
    id,
    runId,
    threadId,
    toolCallId: call.id,
    toolName: call.name,
    input: call.input,
    action,
    resumeMode: call.resumeMode,
    canEdit: canEdit(call),
    updatedAt: call.updatedAt,
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(message === undefined ? {} : { message }),
    ...(parameters === undefined ? {} : { parameters }),
    ...(responseSchema === undefined ? {} : { responseSchema }),
    rootRunId,
    // Who made the run knows the agents above it.
    ...(agentPath === undefined ? {} : { agentPath }),
  };
}

function ticketOf({ identity }: TicketSource, call: ToolCallState): Ticket | undefined {
  if (call.status !== "suspended" || call.suspension === undefined || childOf(call.suspension) !== undefined) return undefined;
  return makeTicket(identity, { ...call, suspension: call.suspension });
}

/** Those of the calls that ask for one, in their order. */
export const ticketsOf = (source: TicketSource, calls: readonly ToolCallState[]): readonly Ticket[] =>
  calls.flatMap((call) => ticketOf(source, call) ?? []);

/** The runs that calls wait for. */
export const childrenOf = (waiting: readonly ToolCallState[]): readonly RunId[] =>
  waiting.flatMap(({ suspension }) => childOf(suspension) ?? []);

/** The ticket of a call, while it waits. */
export function openTicketOf(ctx: TicketSource, callId: ToolCallId): Ticket | undefined {
  const call = callsOf(ctx).find(({ id }) => id === callId);
  return call === undefined ? undefined : ticketOf(ctx, call);
}
