import { AwakenError, openTicketsOf, type RunRecord, type Ticket, threadId } from "@awaken/contract";
import type { AttachedEvent, RunRequest, TicketDecision } from "@awaken/runtime";
import { openEvents } from "../../routes/open-events.ts";
import { activeRun, type FrameReply, type Tenant } from "../../routes/served.ts";
import { findMessage, knownIds } from "../../routes/thread-view.ts";
import { tellEvents, telling, until } from "../../routes/told-events.ts";
import { readContents } from "./attachments.ts";
import { decisionsOf, readSaid, type Said } from "./decisions.ts";
import { AiSdkEncoder } from "./encoder.ts";
import { type ChatRequest, type ClientMessage, refuse } from "./request.ts";
import { ChatStream, saidStream } from "./stream.ts";

type MessageInput = Exclude<RunRequest["input"], string | undefined>[number];

const isEnd = ({ type }: AttachedEvent): boolean => type === "run-end";

const NOTHING: AsyncIterator<AttachedEvent> = { next: async () => ({ done: true, value: undefined }) };

/** One request of a page, with what the server has of its thread. */
interface Chat {
  readonly tenant: Tenant;
  readonly request: ChatRequest;
  readonly isAdmin: boolean;
  readonly thread: string;
  /** The run that works or waits on the thread. */
  readonly open: RunRecord | undefined;
}

const encoderFor = ({ request: { dialect } }: Chat, tools: readonly { readonly id: string }[]): AiSdkEncoder =>
  new AiSdkEncoder({ dialect, frontendTools: tools.map(({ id }) => id) });

/** Runs that one who decides is told of: the run of the thread, and all below it. */
async function openTickets({ tenant }: Chat, run: RunRecord): Promise<readonly Ticket[]> {
  const own = openTicketsOf(run);
  const all = await tenant.records.runs.listOpenTickets(run.runId);
  const known = new Set(own.map(({ id }) => id));
  return [...own, ...all.filter(({ id }) => !known.has(id))];
}

/** What is new of what the client sent. Assistants speak on the server alone. */
async function newMessages({ tenant, request, thread, isAdmin }: Chat, edited: string | undefined): Promise<readonly MessageInput[]> {
  const spoken = request.messages.filter(({ role }) => role === "user" || role === "system");
  if (!isAdmin && spoken.some(({ role }) => role === "system")) throw refuse("messages of role system are not taken from clients");
  const known = await knownIds(
    tenant,
    thread,
    spoken.flatMap(({ id }) => id ?? []),
  );
  const fresh = spoken.filter(({ id }) => id === undefined || id === edited || !known.has(id));
  return toInput(fresh);
}

function toInput(messages: readonly ClientMessage[]): readonly MessageInput[] {
  const contents = readContents(messages);
  return messages.flatMap(({ id, role }, index) => {
    const content = contents[index] ?? [];
    if (content.length === 0) return [];
    return [{ role: role === "system" ? ("system" as const) : ("user" as const), content, ...(id === undefined ? undefined : { id }) }];
  });
}

/** What the runtime is asked, in its own words. */
function toRequest({ tenant, request, thread }: Chat, input: readonly MessageInput[]) {
  const { agentId, tools, state } = request;
  const { principal } = tenant;
  return {
    thread,
    input,
    trace: { adapter: "ai-sdk" },
    ...(agentId === undefined ? undefined : { agent: agentId }),
    ...(tools.length === 0 ? undefined : { frontendTools: tools }),
    ...(state === undefined ? undefined : { frontendContext: state }),
    ...(principal === undefined ? undefined : { principal }),
  } as const satisfies RunRequest;
}

/** Whoever was at work had his last words, and the run has its thread: it can be followed from its first event on. */
async function begun(run: ReturnType<Tenant["runtime"]["stream"]>): Promise<void> {
  const events = run[Symbol.asyncIterator]();
  await events.next();
  // The log tells of it, with cursors.
  void events.return?.();
}

/** A new run, or the one that waits, with what the user says instead of a decision. */
async function submit(chat: Chat, input: readonly MessageInput[]): Promise<FrameReply> {
  const { tenant, open, request } = chat;
  if (open?.status === "waiting")
    return goOnWith(chat, open, () => tenant.runtime.stream({ ...toRequest(chat, input), onBusy: "interrupt" }));
  const run = tenant.runtime.stream({ ...toRequest(chat, input), onBusy: "interrupt" });
  await begun(run);
  const events = telling(tenant, await openEvents(tenant.runtime, run.id, { begun: run.result, isLast: isEnd }));
  return { events, runId: run.id, threadId: run.threadId, encoder: new ChatStream(encoderFor(chat, request.tools)) };
}

/** A run that waits goes on with a new message: what comes is an answer of its own. */
async function goOnWith(chat: Chat, open: RunRecord, begin: () => ReturnType<Tenant["runtime"]["stream"]>): Promise<FrameReply> {
  const { past, coming } = await tellEvents(chat.tenant.runtime, open.runId);
  const encoder = encoderFor(chat, [...open.activation.options.frontendTools, ...chat.request.tools]);
  for (const event of past) encoder.encode(event);
  const { answers } = encoder;
  const run = begin();
  void run[Symbol.asyncIterator]().return?.();
  const first = coming.next();
  first.catch(() => {});
  try {
    await Promise.race([first, run.result]);
  } catch (thrown) {
    await coming.return?.();
    throw thrown;
  }
  const events = until(telling(chat.tenant, { ...coming, next: resuming(first, coming) }), { isLast: isEnd });
  const stream = new ChatStream(encoder, { isFirst: () => encoder.answers > answers });
  return { events, runId: open.runId, threadId: open.threadId, encoder: stream };
}

function resuming<T>(first: Promise<T>, rest: { next(): Promise<T> }): () => Promise<T> {
  let head: Promise<T> | undefined = first;
  return () => {
    const next = head ?? rest.next();
    head = undefined;
    return next;
  };
}

/** Decides, and follows the run of the thread until it ends or waits again, in itself or below. */
async function decide(chat: Chat, open: RunRecord, decisions: ReturnType<typeof decisionsOf>, said: readonly Said[]): Promise<FrameReply> {
  const { runtime } = chat.tenant;
  const { past, coming } = await tellEvents(runtime, open.runId);
  const encoder = encoderFor(chat, open.activation.options.frontendTools);
  for (const event of past) encoder.encode(event);
  let results: readonly Promise<unknown>[];
  try {
    // Somebody was quicker, and the run is over.
    if (isOver(past)) throw new AwakenError("ticket_not_open", "the run is over");
    results = await decideAll(chat, decisions);
  } catch (thrown) {
    await coming.return?.();
    throw thrown;
  }
  let waiting: readonly Ticket[] | undefined;
  const isBelow = decisions.some(({ of }) => of.runId !== open.runId);
  const over = isBelow
    ? waitsBelow(chat, open, results).then((tickets) => {
        waiting = tickets;
        return tickets !== undefined;
      })
    : undefined;
  const events = until(telling(chat.tenant, coming), { isLast: isEnd, ...(over === undefined ? undefined : { over }) });
  const head = encoder.recall(said.map(({ toolCallId }) => toolCallId));
  return { events, runId: open.runId, threadId: open.threadId, encoder: new ChatStream(encoder, { head, waiting: () => waiting }) };
}

function isOver(past: readonly AttachedEvent[]): boolean {
  const last = past.findLast(({ type }) => type === "run-end" || type === "run-start");
  return last?.type === "run-end" && last.result.status !== "waiting";
}

/** What is asked below, when a run there waits again while the one that is shown did not go on. */
async function waitsBelow(chat: Chat, open: RunRecord, results: readonly Promise<unknown>[]): Promise<readonly Ticket[] | undefined> {
  await Promise.allSettled(results);
  const now = await chat.tenant.records.runs.load(open.runId).catch(() => undefined);
  if (now === undefined || now.updatedAt !== open.updatedAt || now.status !== "waiting") return undefined;
  return openTickets(chat, now);
}

/** The decisions about each run together: all or none of them. */
async function decideAll({ tenant }: Chat, decisions: ReturnType<typeof decisionsOf>): Promise<readonly Promise<unknown>[]> {
  const byRun = Map.groupBy(decisions, ({ of }) => of.runId);
  const results: Promise<unknown>[] = [];
  for (const group of byRun.values()) {
    const given: readonly TicketDecision[] = group.map(({ ticket, decision }) => ({ ticket, decision }));
    const run = await tenant.runtime.decideAll(given);
    void run[Symbol.asyncIterator]().return?.();
    run.result.catch(() => {});
    results.push(run.result);
  }
  return results;
}

/** What was answered does not wait any more: the page is told what became of it. */
async function repeat(chat: Chat, said: readonly Said[]): Promise<FrameReply> {
  const { tenant, thread, open } = chat;
  const run = open ?? (await tenant.records.runs.loadLatest(threadId(thread)));
  if (run === undefined) throw refuse("there is nothing new in the request");
  const { past, coming } = await tellEvents(tenant.runtime, run.runId);
  const encoder = encoderFor(chat, run.activation.options.frontendTools);
  for (const event of past) encoder.encode(event);
  const follow = { runId: run.runId, threadId: run.threadId };
  const calls = said.map(({ toolCallId }) => toolCallId);
  if (run.status === "running" && !isOver(past)) {
    const stream = new ChatStream(encoder, { head: encoder.recall(calls) });
    return { ...follow, events: until(telling(tenant, coming), { isLast: isEnd }), encoder: stream };
  }
  await coming.return?.();
  const chunks = encoder.repeat(calls);
  return { ...follow, events: NOTHING, encoder: saidStream(chunks) };
}

/** Nobody works on the thread from here on. */
async function clear({ tenant, thread, open }: Chat): Promise<void> {
  if (open?.status === "running") await tenant.runtime.interrupt(thread);
}

async function regenerate(chat: Chat): Promise<FrameReply> {
  const { tenant, thread, request } = chat;
  const found = await findMessage(tenant, thread, request.messageId);
  const asked = found?.asked;
  if (asked?.role !== "user") throw refuse(`there is no message '${request.messageId ?? ""}' to answer again`);
  await clear(chat);
  await tenant.runtime.rewind(thread, { toMessageId: asked.id });
  const id = asked.metadata?.clientId ?? asked.id;
  return submit({ ...chat, open: undefined }, [{ role: "user", content: asked.content, id }]);
}

async function edit(chat: Chat, input: readonly MessageInput[], id: string): Promise<FrameReply> {
  const { tenant, thread } = chat;
  await clear(chat);
  await tenant.runtime.rewind(thread, { toMessageId: id });
  return submit({ ...chat, open: undefined }, input);
}

async function openChat(tenant: Tenant, request: ChatRequest, isAdmin: boolean): Promise<Chat> {
  const thread = request.threadId ?? crypto.randomUUID();
  const record = request.threadId === undefined ? undefined : await tenant.records.threads.load(threadId(thread));
  const open = record === undefined ? undefined : await activeRun(tenant, record);
  return { tenant, request, isAdmin, thread, open };
}

/** What a page asks for, from its request to the frames of the answer. */
export async function chat(tenant: Tenant, request: ChatRequest, isAdmin: boolean): Promise<FrameReply> {
  const asked = await openChat(tenant, request, isAdmin);
  if (request.isRegenerate) return regenerate(asked);
  const { open, thread } = asked;
  const named = request.messageId === undefined ? undefined : await findMessage(tenant, thread, request.messageId);
  const edited = named?.message.role === "user" ? named.message : undefined;
  const input = await newMessages(asked, edited === undefined ? undefined : request.messageId);
  if (edited !== undefined && input.some(({ id }) => id === request.messageId)) return edit(asked, input, edited.id);
  const said = readSaid(request.messages);
  const decisions = open === undefined || said.length === 0 ? [] : decisionsOf(said, await openTickets(asked, open), open.runId);
  if (input.length > 0) return answer(asked, input, decisions);
  if (open !== undefined && decisions.length > 0) return decideOrRepeat(asked, open, decisions, said);
  const last = request.messages.at(-1);
  const stale = last?.role === "assistant" ? readSaid([last]) : [];
  if (stale.length === 0) throw refuse("there is nothing new in the request: no message, and no decision about a call");
  return repeat(asked, stale);
}

const isGone = (thrown: unknown): boolean =>
  AwakenError.is(thrown) &&
  (thrown.code === "ticket_not_open" || thrown.code === "ticket_not_found" || thrown.code === "decision_conflict");

/** Somebody else may have decided meanwhile. */
async function decideOrRepeat(
  chat: Chat,
  open: RunRecord,
  decisions: ReturnType<typeof decisionsOf>,
  said: readonly Said[],
): Promise<FrameReply> {
  try {
    return await decide(chat, open, decisions, said);
  } catch (thrown) {
    if (!isGone(thrown)) throw thrown;
    return repeat({ ...chat, open: undefined }, said);
  }
}

/** A message, and with it what was decided about calls of the run that waits. */
async function answer(chat: Chat, input: readonly MessageInput[], decisions: ReturnType<typeof decisionsOf>): Promise<FrameReply> {
  const { tenant, open } = chat;
  const own = decisions.filter(({ of }) => of.runId === open?.runId);
  if (open?.status !== "waiting" || own.length === 0) return submit(chat, input);
  const { agent: _, ...request } = { agent: undefined, ...toRequest(chat, input) };
  const given = own.map(({ ticket, decision }) => ({ ticket, decision }));
  return goOnWith(chat, open, () => tenant.runtime.stream({ ...request, resume: open.runId, decisions: given }));
}
