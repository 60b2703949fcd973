import {
  type AgentEvent,
  type AssistantMessage,
  concludeRecord,
  isSettled,
  type JsonValue,
  type Message,
  messageText,
  messageToolCalls,
  openTicketsOf,
  type RunId,
  type RunOutcome,
  type RunRecord,
  runIdentity,
  type Suspension,
  type Termination,
  type Ticket,
  type ToolMessage,
  type ToolResult,
} from "@awaken/contract";
import type { AttachedEvent } from "@awaken/runtime";
import type { Tenant } from "./served.ts";
import { rowsBackwards } from "./thread-view.ts";
import { type ToldEvents, tellEvents } from "./told-events.ts";

type EventOf<T extends AgentEvent["type"]> = Extract<AgentEvent, { type: T }>;

function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function suspensionOf({ id, action, resumeMode, message, parameters, responseSchema, canEdit, expiresAt }: Ticket): Suspension {
  return {
    id,
    action,
    resumeMode,
    ...(message === undefined ? undefined : { message }),
    ...(parameters === undefined ? undefined : { parameters }),
    ...(responseSchema === undefined ? undefined : { responseSchema }),
    ...(canEdit === undefined ? undefined : { canEdit }),
    ...(expiresAt === undefined ? undefined : { expiresAt }),
  };
}

/** Undefined for one that waits for something else than an answer here. */
function resultOf(message: ToolMessage, tickets: readonly Ticket[]): ToolResult | undefined {
  const text = messageText(message);
  if (message.status === "error") return { type: "error", code: "execution_failed", message: text };
  if (message.status === "pending") {
    const ticket = tickets.find(({ toolCallId }) => toolCallId === message.toolCallId);
    return ticket === undefined ? undefined : { type: "pending", suspension: suspensionOf(ticket) };
  }
  const media = message.content.flatMap((part) => (part.type === "text" ? [] : [part]));
  return { type: "success", data: parsed(text), ...(media.length === 0 ? undefined : { media }) };
}

const OUTCOMES = { success: "succeeded", error: "failed", pending: "suspended" } as const;

/** Messages and records of runs as the events that they came of, as far as they tell. */
class Retelling {
  readonly events: AgentEvent[] = [];
  readonly #runs: ReadonlyMap<RunId, RunRecord>;
  readonly #children: ReadonlyMap<RunId, readonly EventOf<"child-start">[]>;
  #run: RunRecord | undefined;
  #step: number | undefined;
  /** Of people, before it is known whom they spoke to. */
  #said: Message[] = [];

  constructor(runs: ReadonlyMap<RunId, RunRecord>, children: ReadonlyMap<RunId, readonly EventOf<"child-start">[]>) {
    this.#runs = runs;
    this.#children = children;
  }

  add(message: Message): void {
    if (message.visibility === "internal") return;
    if (message.role === "user") this.#said.push(message);
    else if (message.role === "assistant") this.#turn(message);
    else if (message.role === "tool") this.#result(message);
  }

  /** What comes next is of another run, or of none. */
  end(): void {
    this.#leave();
    this.#accept("start");
  }

  /** What comes next is more of this run; `isResumed`: it rested before. */
  endIn(run: RunRecord, isResumed: boolean): void {
    this.#begin(run);
    if (!isResumed) return;
    this.#endStep();
    this.#endRun(run, { type: "suspended" }, { status: "waiting", waitingReason: "suspended", response: "" });
  }

  #begin(run: RunRecord): void {
    if (this.#run?.runId === run.runId) {
      this.#accept("steer");
      return;
    }
    this.#leave();
    this.#run = run;
    const { threadId, runId: id } = run;
    const answerId = run.answerId;
    if (answerId === undefined) return;
    this.events.push({ type: "run-start", threadId, runId: id, identity: runIdentity(run), answerId, resumed: false });
    this.#accept("start");
  }

  #accept(mode: EventOf<"input-accepted">["mode"]): void {
    if (this.#said.length === 0) return;
    this.#endStep();
    this.events.push({ type: "input-accepted", messages: this.#said, mode });
    this.#said = [];
  }

  #turn(message: AssistantMessage): void {
    const id = message.metadata?.runId;
    const run = id === undefined ? undefined : this.#runs.get(id);
    if (run === undefined) return;
    this.#begin(run);
    this.#endStep();
    const step = (message.metadata?.stepIndex ?? 0) + 1;
    this.#step = step;
    this.events.push({ type: "step-start", step, messageId: message.id, agentId: message.metadata?.senderAgentId ?? run.agentId });
    const frontendTools = new Set(run.activation.options.frontendTools.map(({ id }) => id));
    for (const part of message.content) {
      if (part.type === "text" || part.type === "reasoning") {
        if (part.text !== "") this.events.push({ type: part.type === "text" ? "text-delta" : "reasoning-delta", delta: part.text });
      } else if (part.type === "tool-call" && part.executed === undefined) {
        const call = { toolCallId: part.id, toolName: part.name };
        const runsAt = frontendTools.has(part.name) ? "client" : "server";
        this.events.push({ type: "tool-call-start", ...call });
        this.events.push({ type: "tool-call-ready", ...call, input: part.input, runsAt, dynamic: false });
      }
    }
  }

  #result(message: ToolMessage): void {
    const { toolCallId, toolName, id: messageId } = message;
    const result = this.#run === undefined ? undefined : resultOf(message, openTicketsOf(this.#run));
    if (result === undefined) return;
    this.events.push({ type: "tool-call-end", toolCallId, toolName, messageId, outcome: OUTCOMES[result.type], result });
  }

  #endStep(): void {
    if (this.#step === undefined) return;
    this.events.push({ type: "step-end", step: this.#step });
    this.#step = undefined;
  }

  /** Nothing more comes of the run that was told. */
  #leave(): void {
    this.#endStep();
    const run = this.#run;
    this.#run = undefined;
    if (run === undefined || !isSettled(run)) return;
    this.events.push(...(this.#children.get(run.runId) ?? []));
    const { termination, ...concluded } = concludeRecord(run);
    const response = run.status === "done" ? run.outcome.response : "";
    this.#endRun(run, termination, { ...concluded, response }, openTicketsOf(run));
  }

  #endRun(run: RunRecord, termination: Termination, result: RunOutcome, tickets: readonly Ticket[] = []): void {
    const { threadId, runId: id, usage, usageByModel = [] } = run;
    this.events.push({ type: "run-end", threadId, runId: id, termination, tickets, result, usage, usageByModel });
  }
}

/** Runs below that ask for something, at the call of this run that waits for them. */
async function childrenOf({ records }: Tenant, run: RunRecord): Promise<readonly EventOf<"child-start">[]> {
  const children = new Map<string, EventOf<"child-start">>();
  for (const ticket of await records.runs.listOpenTickets(run.runId)) {
    let below = ticket.runId === run.runId ? undefined : await records.runs.load(ticket.runId);
    while (below?.parentRunId !== undefined && below.parentRunId !== run.runId) below = await records.runs.load(below.parentRunId);
    if (below === undefined) continue;
    const { runId: id, threadId, agentId } = below;
    const { agentPath = [run.agentId, agentId], parentToolCallId } = below.activation.trace;
    const call = parentToolCallId === undefined ? undefined : { toolCallId: parentToolCallId };
    children.set(id, { type: "child-start", runId: id, threadId, agentId, agentPath, ...call });
  }
  return [...children.values()];
}

const lateId = (asker: string | undefined, toolCallId: string): string => `${asker} ${toolCallId}`;

/** The messages that these events tell of, and results that came late, by the turn that asked for them. */
const toldIn = (past: readonly AttachedEvent[]): ReadonlySet<string> =>
  new Set(
    past.flatMap((event): readonly string[] => {
      if (event.type === "input-accepted") return event.messages.map(({ id }) => id);
      if (event.type === "tool-call-resumed") return [lateId(event.messageId, event.toolCallId)];
      return event.type === "step-start" || event.type === "tool-call-end" ? [event.messageId] : [];
    }),
  );

/** The first message that the events tell of themselves; -1: none. */
function firstTold(rows: readonly Message[], past: readonly AttachedEvent[]): number {
  const told = toldIn(past);
  const askers = new Map<string, string>();
  return rows.findIndex((row) => {
    if (row.role === "assistant") for (const { id } of messageToolCalls(row)) askers.set(id, row.id);
    const isLate = row.role === "tool" && row.status !== "pending" && told.has(lateId(askers.get(row.toolCallId), row.toolCallId));
    return isLate || told.has(row.id);
  });
}

const hasRun = ({ metadata }: Message): boolean => metadata?.runId !== undefined;

/** The run whose events go on where the messages end. */
function goingOn(rows: readonly Message[], past: readonly AttachedEvent[]): RunId | undefined {
  const [first] = past;
  if (first?.type === "run-start") return first.resumed ? first.runId : undefined;
  return rows.find(hasRun)?.metadata?.runId;
}

/**
 * What messages tell where the events of their runs are gone: retention takes the log, and leaves messages and records. `rows` are from the
 * oldest on; those that the events tell of themselves, and all behind them, are left to them.
 */
export async function retell(tenant: Tenant, rows: readonly Message[], past: readonly AttachedEvent[]): Promise<readonly AttachedEvent[]> {
  const end = firstTold(rows, past);
  const gone = end === -1 ? rows : rows.slice(0, end);
  if (gone.length === 0) return [];
  const next = end === -1 ? undefined : goingOn(rows.slice(end), past);
  const ids = new Set([...gone.flatMap(({ metadata }) => metadata?.runId ?? []), ...(next === undefined ? [] : [next])]);
  const runs = (await Promise.all([...ids].map((id) => tenant.records.runs.load(id)))).flatMap((run) => run ?? []);
  const waiting = runs.filter(({ status }) => status === "waiting");
  const children = await Promise.all(waiting.map(async (run) => [run.runId, await childrenOf(tenant, run)] as const));
  const retelling = new Retelling(new Map(runs.map((run) => [run.runId, run])), new Map(children));
  for (const row of gone) retelling.add(row);
  const goesOn = runs.find((run) => run.runId === next);
  if (goesOn === undefined) retelling.end();
  else retelling.endIn(goesOn, past[0]?.type === "run-start");
  return retelling.events;
}

/** Its first event is there. */
const isWhole = ([first]: readonly AttachedEvent[], { steps }: RunRecord): boolean =>
  first === undefined ? steps === 0 : first.type === "run-start" && !first.resumed;

/** A run from its beginning on, also when its first events are gone. */
export async function tellRun(tenant: Tenant, run: RunRecord): Promise<ToldEvents> {
  const told = await tellEvents(tenant.runtime, run.runId);
  if (isWhole(told.past, run)) return told;
  try {
    const rows: Message[] = [];
    for await (const { message } of rowsBackwards(tenant, run.threadId)) rows.push(message);
    const past = await retell(tenant, rowsOf(run, rows.reverse()), told.past);
    return { ...told, past: [...past, ...told.past] };
  } catch (thrown) {
    await told.coming.return?.();
    throw thrown;
  }
}

/** Those that the run wrote, and what people said before and between them. */
function rowsOf(run: RunRecord, rows: readonly Message[]): readonly Message[] {
  const isOwn = ({ metadata }: Message) => metadata?.runId === run.runId;
  const first = rows.findIndex(isOwn);
  const before = rows.slice(0, Math.max(first, 0)).findLastIndex(hasRun);
  return rows.slice(before + 1).filter((row) => isOwn(row) || !hasRun(row));
}
