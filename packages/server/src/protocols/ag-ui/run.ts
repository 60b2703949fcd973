import { AwakenError, type RunRecord, threadId } from "@awaken/contract";
import type { AttachedEvent, RunRequest } from "@awaken/runtime";
import type { FrameEncoder, FrameReply, Tenant } from "../../routes/served.ts";
import { decide, type Followed, followRun, openTalk, openTickets, submit, type Talk, takeUp } from "../../routes/talk.ts";
import { knownIds, rowsBackwards } from "../../routes/thread-view.ts";
import { readAnswers, type Unanswerable } from "./answers.ts";
import { AgUiEncoder, type AgUiStreamInit } from "./encoder.ts";
import type { AgUiDialect, AgUiFrame, AgUiMessage } from "./frame.ts";
import { agUiMessages } from "./messages.ts";
import { type AgUiRequest, refuse, type SaidMessage } from "./request.ts";

type MessageInput = Exclude<RunRequest["input"], string | undefined>[number];

const framesOf = (frames: readonly AgUiFrame[], cursor?: string): string =>
  frames
    .map(
      (frame, index) => `${cursor !== undefined && index === frames.length - 1 ? `id: ${cursor}\n` : ""}data: ${JSON.stringify(frame)}\n\n`,
    )
    .join("");

export const NOTHING: AsyncIterator<AttachedEvent> = { next: async () => ({ done: true, value: undefined }) };

export interface AgUiFramesInit {
  /** Said when no event comes any more. */
  readonly last?: () => readonly AgUiFrame[];
  /** What is on record and no more, from the first event on of which this is true: it may end in the middle of an answer. */
  readonly recordFrom?: (event: AttachedEvent) => boolean;
}

/** The frames of one request. */
export class AgUiStream implements FrameEncoder {
  readonly #encoder: AgUiEncoder;
  readonly #last: () => readonly AgUiFrame[];
  readonly #isRecord: boolean;
  #isFirst: (event: AttachedEvent) => boolean;

  constructor(encoder: AgUiEncoder, { last = () => [], recordFrom }: AgUiFramesInit = {}) {
    this.#encoder = encoder;
    this.#last = last;
    this.#isRecord = recordFrom !== undefined;
    this.#isFirst = recordFrom ?? (() => true);
  }

  encode(event: AttachedEvent): string {
    const frames = this.#encoder.encode(event);
    if (!this.#isFirst(event)) return "";
    this.#isFirst = () => true;
    return framesOf(frames, event.cursor);
  }

  end(): string | undefined {
    const frames = this.#last();
    return this.#encoder.isOver || this.#isRecord ? framesOf(frames) : undefined;
  }

  fail({ error, code }: { readonly error: string; readonly code: string }): string {
    return framesOf(this.#encoder.fail(error, code));
  }
}

/** All that is in view of a thread. */
export async function loadMessages(tenant: Tenant, thread: string, dialect: AgUiDialect): Promise<readonly AgUiMessage[]> {
  const rows = [];
  for await (const { message, isTaken } of rowsBackwards(tenant, thread)) if (!isTaken) rows.push(message);
  return agUiMessages(rows.reverse(), dialect);
}

interface Asked extends Talk {
  readonly request: AgUiRequest;
}

/**
 * CopilotKit writes a result of its own for a call whose interrupt it answers, and shows it instead of the tool's. Whoever has such a message is given those
 * that there are.
 */
function beginning({ runId, resume, messages: sent }: AgUiRequest, messages: readonly AgUiMessage[]): AgUiStreamInit {
  const known = new Set(messages.map(({ id }) => id));
  const isMadeUp = ({ role, id }: SaidMessage) => role === "tool" && (id === undefined || !known.has(id));
  return { messages, isAnew: resume.length > 0 && sent.some(isMadeUp), ...(runId === undefined ? undefined : { runId }) };
}

/** A run that goes on is read from its beginning: what it opened before is known, and told once. */
async function streaming({ tenant, thread, request }: Asked, followed: Followed): Promise<FrameReply> {
  const encoder = new AgUiEncoder({ dialect: request.dialect });
  const { past, events, runId, threadId: of, waiting } = followed;
  for (const event of past) encoder.encode(event);
  const messages = past.length === 0 && request.messages.length <= 1 ? [] : await loadMessages(tenant, thread, request.dialect);
  encoder.begin(beginning(request, messages));
  const last = () => {
    const tickets = waiting();
    return tickets === undefined ? [] : encoder.settle({ threadId: of, runId }, tickets);
  };
  const leaving = request.isCancelledWithStream ? cancelling(tenant, runId) : undefined;
  return { events, runId, threadId: of, encoder: new AgUiStream(encoder, { last }), ...leaving };
}

/** Whoever leaves before the end wants no end. */
const cancelling = ({ runtime }: Tenant, run: string) => ({ onLeft: () => void runtime.cancel(run).catch(() => {}) });

const failing = ({ request }: Asked, { code, message }: Unanswerable): FrameReply => {
  const encoder = new AgUiEncoder({ dialect: request.dialect });
  return { events: NOTHING, encoder: new AgUiStream(encoder, { last: () => encoder.fail(message, code) }) };
};

/** What was answered before is as it is: the stream says how it stands. */
async function standing(asked: Asked, run: RunRecord): Promise<FrameReply> {
  const { tenant, thread, request } = asked;
  const followed = await followRun(asked, run);
  if (followed.isLive) return streaming(asked, followed);
  // It may have come to rest since its record was read.
  const now = (await tenant.records.runs.load(run.runId)) ?? run;
  const tickets = now.status === "waiting" ? await openTickets(asked, now) : [];
  const encoder = new AgUiEncoder({ dialect: request.dialect });
  for (const event of followed.past) encoder.encode(event);
  encoder.begin(beginning(request, await loadMessages(tenant, thread, request.dialect)));
  const last = () => encoder.settle({ threadId: run.threadId, runId: run.runId }, tickets);
  return { events: NOTHING, runId: run.runId, threadId: run.threadId, encoder: new AgUiStream(encoder, { last }) };
}

/** Assistants speak on the server; what a client says for them counts where the server has nothing yet. */
async function newMessages({ tenant, thread, request }: Asked): Promise<readonly MessageInput[]> {
  const said = request.messages.flatMap((message) => (message.role === "tool" ? [] : [message]));
  const known = await knownIds(
    tenant,
    thread,
    said.flatMap(({ id }) => id ?? []),
  );
  const isKnownThread = (await tenant.records.messages.count(threadId(thread))) > 0;
  return said
    .filter(({ id, role }) => (id === undefined || !known.has(id)) && !(role === "assistant" && isKnownThread))
    .map(({ id, role, content }) => ({ role, content, ...(id === undefined ? undefined : { id }) }));
}

function toRequest({ tenant, thread, request }: Asked, input: readonly MessageInput[]): RunRequest & { readonly thread: string } {
  const { agentId, tools, shown, extras, runId } = request;
  return {
    thread,
    input,
    trace: { adapter: "ag-ui", ...(runId === undefined ? undefined : { transportRequestId: runId }) },
    ...(agentId === undefined ? undefined : { agent: agentId }),
    ...(tools.length === 0 ? undefined : { frontendTools: tools }),
    ...(shown === undefined ? undefined : { frontendContext: shown }),
    ...(extras === undefined ? undefined : { extras }),
    ...(tenant.principal === undefined ? undefined : { principal: tenant.principal }),
  };
}

const isGone = (thrown: unknown): boolean =>
  AwakenError.is(thrown) &&
  (thrown.code === "ticket_not_open" || thrown.code === "ticket_not_found" || thrown.code === "decision_conflict");

/** What a client asks for, from its request to the frames of the answer. */
export async function run(tenant: Tenant, request: AgUiRequest, now: number): Promise<FrameReply> {
  const asked: Asked = { ...(await openTalk(tenant, request.threadId)), request };
  const { open, thread } = asked;
  const input = await newMessages(asked);
  const isSpeaking = input.some(({ role }) => role === "user");
  const tickets = open === undefined ? [] : await openTickets(asked, open);
  const answers = await readAnswers({ tenant, thread, tickets, now }, request, isSpeaking);
  if ("code" in answers) return failing(asked, answers);
  const { decisions, expired, isStale } = answers;
  if (open?.status === "waiting" && (expired.length > 0 || (decisions.length > 0 && isSpeaking))) {
    const { agent: _, ...goingOn } = { agent: undefined, ...toRequest(asked, isSpeaking ? input : []) };
    const own = decisions.filter(({ of }) => of.runId === open.runId).map(({ ticket, decision }) => ({ ticket, decision }));
    return streaming(asked, await takeUp(asked, open, () => tenant.runtime.stream({ ...goingOn, resume: open.runId, decisions: own })));
  }
  if (isSpeaking) return streaming(asked, await submit(asked, toRequest(asked, input)));
  if (open !== undefined && decisions.length > 0) {
    const followed = await decide(asked, open, decisions).catch((thrown: unknown) => {
      if (isGone(thrown)) return undefined;
      throw thrown;
    });
    if (followed !== undefined) return streaming(asked, followed);
  } else if (!isStale) throw refuse("there is nothing new in the request: no message, no result of a tool, and no resume");
  const latest = await tenant.records.runs.loadLatest(threadId(thread));
  if (latest === undefined) throw refuse("there is nothing to go on with");
  return standing(asked, latest);
}
