import { AwakenError, openTicketsOf, type RunRecord, type TicketId, ticketId } from "@awaken/contract";
import type { BodyOf, Routes } from "@awaken/contract/http";
import type { DecisionInput, Sent } from "@awaken/runtime";
import { activeRun, type Handlers, idOf, noRun, type Tenant, theRun, theThread } from "./served.ts";

type TargetedDecision = BodyOf<Routes["decideOnRun"]>;

async function decide({ runtime }: Tenant, target: string, decision: DecisionInput) {
  const run = await runtime.decide(target, decision);
  return { status: "decision-submitted", runId: run.id, threadId: run.threadId, target: ticketId(target) } as const;
}

/** Whoever named a call is told its ticket: events name that alone, and a call of a later step may have the same id. */
function ticketOf(run: RunRecord, call: string): TicketId | undefined {
  const isIts = ({ toolCallId }: { readonly toolCallId?: string }) => toolCallId === call;
  return openTicketsOf(run).find(isIts)?.id ?? run.decided.findLast(isIts)?.ticketId;
}

/** About a ticket, or a call, of this run. */
async function decideWithin(tenant: Tenant, run: RunRecord, asked: TargetedDecision) {
  const done = await decide(tenant, asked.target, within(run.runId, asked));
  return { ...done, target: ticketOf(run, asked.target) ?? done.target };
}

const within = (run: string, { target: _, ...decision }: TargetedDecision): DecisionInput => ({ ...decision, run });

const isUnknown = (thrown: unknown): boolean => AwakenError.is(thrown) && thrown.code === "ticket_not_found";

function viewSent({ status, runId, messageIds }: Sent, thread: Awaited<ReturnType<typeof theThread>>["id"]) {
  if (status === "refused") throw new AwakenError("channel_closed", "nobody is there to read it");
  return { status, threadId: thread, messageIds: [...messageIds], ...(runId === undefined ? undefined : { runId }) };
}

const nothingToCancel = (thread: string) =>
  new AwakenError("run_not_found", `no run of thread '${thread}' can be cancelled`, { details: { threadId: thread } });

export const controlHandlers: Handlers<
  "sendMessages" | "sendInputs" | "interruptThread" | "cancelThread" | "cancelRun" | "decideOnThread" | "decideOnRun" | "decideTicket"
> = {
  async sendMessages(call) {
    const { id } = await theThread(call.tenant, idOf(call));
    const { messages, mode = "queue" } = call.body;
    return viewSent(await call.tenant.runtime.send(id, messages, { mode }), id);
  },
  async sendInputs(call) {
    const run = await theRun(call.tenant, idOf(call));
    if (run.status === "done") throw new AwakenError("channel_closed", `run '${run.runId}' is over`, { details: { runId: run.runId } });
    const { messages, mode = "steer" } = call.body;
    return viewSent(await call.tenant.runtime.send(run.runId, messages, { mode }), run.threadId);
  },
  async interruptThread(call) {
    const { id } = await theThread(call.tenant, idOf(call));
    const { superseded, cancelled } = await call.tenant.runtime.interrupt(id);
    return { status: "interrupted", threadId: id, superseded, cancelled };
  },
  async cancelThread(call) {
    const { id } = await theThread(call.tenant, idOf(call));
    if (!(await call.tenant.runtime.cancel(id))) throw nothingToCancel(id);
    return { status: "cancel-requested", threadId: id };
  },
  async cancelRun(call) {
    const { runId, status } = await theRun(call.tenant, idOf(call));
    if (status === "done" || !(await call.tenant.runtime.cancel(runId))) throw noRun(runId);
    return { status: "cancel-requested", runId };
  },
  async decideOnThread(call) {
    const thread = await theThread(call.tenant, idOf(call));
    const { body, tenant } = call;
    try {
      return await decide(tenant, body.target, within(thread.id, body));
    } catch (thrown) {
      // The id of a call, which only its run knows: the one that the thread is with.
      const run = isUnknown(thrown) ? ((await activeRun(tenant, thread)) ?? (await tenant.records.runs.loadLatest(thread.id))) : undefined;
      if (run === undefined) throw thrown;
      return decideWithin(tenant, run, body);
    }
  },
  decideOnRun: async (call) => decideWithin(call.tenant, await theRun(call.tenant, idOf(call)), call.body),
  decideTicket: (call) => decide(call.tenant, idOf(call), call.body),
};
