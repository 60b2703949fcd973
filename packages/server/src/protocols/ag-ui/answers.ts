import { isJsonObject, type JsonValue, type RunRecord, runId, type Ticket, ticketId } from "@awaken/contract";
import type { DecisionInput } from "@awaken/runtime";
import type { Tenant } from "../../routes/served.ts";
import type { AboutTicket } from "../../routes/talk.ts";
import { isFrontendCall } from "./interrupts.ts";
import type { AgUiRequest, ResumeEntry } from "./request.ts";

/** Why a request is answered with one error and nothing else. */
export interface Unanswerable {
  readonly code: "interrupts_unanswered" | "interrupt_unknown" | "interrupt_expired";
  readonly message: string;
}

export interface Answers {
  readonly decisions: readonly AboutTicket[];
  /** Expired, and given up by the client: a run that goes on finds them denied. */
  readonly expired: readonly Ticket[];
  /** Something that was answered before. */
  readonly isStale: boolean;
}

const isDenied = (payload: JsonValue): boolean => isJsonObject(payload) && payload["approved"] === false;
const reasonOf = (payload: JsonValue): string | undefined => {
  const reason = isJsonObject(payload) ? payload["reason"] : undefined;
  return typeof reason === "string" && reason !== "" ? reason : undefined;
};

function decisionOf({ isCancelled, payload }: ResumeEntry, ticket: Ticket): DecisionInput {
  const id = `ag-ui:${ticket.id}`;
  if (isCancelled || isDenied(payload)) {
    const reason = reasonOf(payload);
    return { action: "deny", id, ...(reason === undefined ? undefined : { reason }) };
  }
  if (ticket.resumeMode !== "replay-tool-call") return { action: "answer", result: payload, id };
  const edited = isJsonObject(payload) ? payload["editedArgs"] : undefined;
  return { action: "approve", id, ...(edited === undefined || edited === null ? undefined : { input: edited }) };
}

/** Whether the ticket was once one of this thread: of its runs, or of one below them. */
async function wasOpen({ records }: Tenant, thread: string, id: string): Promise<boolean> {
  for (const run of await records.runs.listByTicket(ticketId(id))) {
    const root: RunRecord | undefined = run.rootRunId === undefined ? run : await records.runs.load(runId(run.rootRunId));
    if (run.threadId === thread || root?.threadId === thread) return true;
  }
  return false;
}

interface Reading {
  readonly tenant: Tenant;
  readonly thread: string;
  readonly tickets: readonly Ticket[];
  readonly now: number;
}

async function readResume({ tenant, thread, tickets, now }: Reading, resume: readonly ResumeEntry[]): Promise<Answers | Unanswerable> {
  const [decisions, expired]: [AboutTicket[], Ticket[]] = [[], []];
  let isStale = false;
  for (const entry of resume) {
    const ticket = tickets.find(({ id }) => id === entry.interruptId);
    if (ticket === undefined) {
      if (!(await wasOpen(tenant, thread, entry.interruptId)))
        return { code: "interrupt_unknown", message: `no interrupt of this thread has the id '${entry.interruptId}'` };
      isStale = true;
    } else if (ticket.expiresAt !== undefined && ticket.expiresAt <= now) {
      if (!entry.isCancelled)
        return { code: "interrupt_expired", message: `the interrupt '${ticket.id}' has expired: it can be cancelled alone` };
      expired.push(ticket);
    } else decisions.push({ ticket: ticket.id, decision: decisionOf(entry, ticket), of: ticket });
  }
  return { decisions, expired, isStale };
}

/** What a request decides. Input that leaves something unanswered decides nothing. */
export async function readAnswers(
  reading: Reading,
  { resume, messages }: AgUiRequest,
  isSpeaking: boolean,
): Promise<Answers | Unanswerable> {
  const { tickets } = reading;
  const read = await readResume(reading, resume);
  if ("code" in read) return read;
  const answered = new Set([...read.decisions.map(({ of }) => of.id), ...read.expired.map(({ id }) => id)]);
  const results = new Map(messages.flatMap((message) => (message.role === "tool" ? [[message.toolCallId, message.result]] : [])));
  const open = tickets.filter((ticket) => !isFrontendCall(ticket) && !answered.has(ticket.id));
  const played = tickets.flatMap((ticket): AboutTicket[] => {
    const result = results.get(ticket.toolCallId);
    if (!isFrontendCall(ticket) || result === undefined || answered.has(ticket.id)) return [];
    return [{ ticket: ticket.id, decision: { action: "answer", result, id: `ag-ui:${ticket.id}` }, of: ticket }];
  });
  const isAnswering = isSpeaking || resume.length > 0 || played.length > 0;
  if (open.length > 0 && isAnswering && !(read.isStale && answered.size === 0 && !isSpeaking && played.length === 0))
    return { code: "interrupts_unanswered", message: `${open.length} interrupts are open and not answered: resume must name each of them` };
  const isStale = read.isStale || (messages.at(-1)?.role === "tool" && played.length === 0);
  return { decisions: [...read.decisions, ...played], expired: read.expired, isStale };
}
