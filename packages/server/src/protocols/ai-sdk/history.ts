import { type AgentEvent, type Message, openTicketsOf, type Ticket, threadId } from "@awaken/contract";
import { retell } from "../../routes/retell.ts";
import { activeRun, type Tenant, theThread } from "../../routes/served.ts";
import { clientIdOf, rowsBackwards, type ViewedRow } from "../../routes/thread-view.ts";
import { tellEvents, withTickets } from "../../routes/told-events.ts";
import type { Dialect } from "./chunk.ts";
import { AiSdkEncoder } from "./encoder.ts";
import { type ToolPart, type UiMessage, UiMessageFold } from "./ui-message.ts";
import { partsOf } from "./user-parts.ts";

const isForPeople = ({ role, visibility }: Message): boolean => role === "user" && visibility !== "internal";

/** Leaves out what a rewind took: whole answers with what they answer, and single steps. */
class InView {
  readonly #taken: ReadonlySet<string>;
  #isAnswerTaken = false;
  #isStepTaken = false;
  #isFresh = false;

  constructor(taken: ReadonlySet<string>) {
    this.#taken = taken;
  }

  shows(event: AgentEvent): boolean {
    if (event.type === "run-start") {
      this.#isFresh = true;
      this.#isStepTaken = false;
      if (!event.resumed) this.#isAnswerTaken = false;
      return true;
    }
    if (event.type === "input-accepted") {
      const said = event.messages.filter(isForPeople);
      if (this.#isFresh && said.length > 0) this.#isAnswerTaken = said.every(({ id }) => this.#taken.has(id));
    }
    if (event.type === "step-start") {
      this.#isFresh = false;
      this.#isStepTaken = this.#taken.has(event.messageId);
    }
    return event.type === "run-end" || !(this.#isAnswerTaken || this.#isStepTaken);
  }

  has({ id }: Message): boolean {
    return !this.#taken.has(id);
  }
}

/** From the oldest on. */
async function allRows(tenant: Tenant, thread: string): Promise<readonly ViewedRow[]> {
  const rows: ViewedRow[] = [];
  for await (const row of rowsBackwards(tenant, thread)) rows.push(row);
  return rows.reverse();
}

/** The messages of events, as the stream of them would have built them. */
class HistoryFold {
  readonly #encoder: AiSdkEncoder;
  readonly #view: InView;
  readonly #messages: (UiMessage | UiMessageFold)[] = [];
  #answer: UiMessageFold | undefined;
  #answers = 0;

  constructor(dialect: Dialect, taken: ReadonlySet<string>) {
    this.#encoder = new AiSdkEncoder({ dialect });
    this.#view = new InView(taken);
  }

  add(event: AgentEvent): void {
    if (!this.#view.shows(event)) return;
    const chunks = this.#encoder.encode(event);
    if (this.#encoder.answers !== this.#answers) {
      this.#answers = this.#encoder.answers;
      this.#answer = undefined;
    }
    if (event.type === "input-accepted" && chunks.length === 0) {
      for (const message of event.messages) {
        if (isForPeople(message) && this.#view.has(message))
          this.#messages.push({ id: clientIdOf(message), role: "user", parts: partsOf(message.content) });
      }
    }
    for (const chunk of chunks) {
      if (this.#answer === undefined) {
        this.#answer = new UiMessageFold();
        this.#messages.push(this.#answer);
      }
      this.#answer.add(chunk);
    }
  }

  finish(isOpen: (part: ToolPart) => boolean, isWorking: boolean): readonly UiMessage[] {
    return this.#messages.flatMap((message) => {
      if (!(message instanceof UiMessageFold)) return [message];
      if (message.isEmpty) return [];
      if (!isWorking || message !== this.#answer) message.settle(isOpen);
      return [message.message];
    });
  }
}

const isWaitedFor = (tickets: readonly Ticket[], { approval, toolCallId, state }: ToolPart): boolean =>
  tickets.some(({ id, toolCallId: call }) => (state === "approval-requested" ? id === approval?.id : call === toolCallId));

/** All of a thread as a page shows it: one message for each answer, with the same parts as its stream had. */
export async function loadHistory(tenant: Tenant, id: string, dialect: Dialect): Promise<readonly UiMessage[]> {
  const thread = await theThread(tenant, id);
  const [rows, told, run] = await Promise.all([allRows(tenant, id), tellEvents(tenant.runtime, id), activeRun(tenant, thread)]);
  await told.coming.return?.();
  const taken = new Set(rows.flatMap(({ message, isTaken }) => (isTaken ? [message.id] : [])));
  const before = await retell(
    tenant,
    rows.map(({ message }) => message),
    told.past,
    threadId(id),
  );
  const past = [...before, ...told.past];
  const below = run === undefined ? [] : await tenant.records.runs.listOpenTickets(run.runId);
  const tickets = run === undefined ? [] : [...openTicketsOf(run), ...below];
  const fold = new HistoryFold(dialect, taken);
  // What can be decided is told at the end that the run waits at.
  const last = run?.status === "waiting" ? past.findLastIndex(({ type }) => type === "run-end") : -1;
  for (const [index, event] of past.entries()) fold.add(index === last ? await withTickets(tenant, event) : event);
  return fold.finish((part) => isWaitedFor(tickets, part), run?.status === "running");
}
