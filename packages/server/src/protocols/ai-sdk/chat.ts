import { AwakenError, type RunRecord, threadId } from "@awaken/contract";
import type { RunRequest } from "@awaken/runtime";
import type { FrameReply, Tenant } from "../../routes/served.ts";
import { type AboutTicket, decide, type Followed, followRun, openTalk, openTickets, submit, type Talk, takeUp } from "../../routes/talk.ts";
import { findMessage, knownIds } from "../../routes/thread-view.ts";
import { readContents } from "./attachments.ts";
import { decisionsOf, readSaid, type Said } from "./decisions.ts";
import { AiSdkEncoder } from "./encoder.ts";
import { type ChatRequest, type ClientMessage, refuse } from "./request.ts";
import { ChatStream, saidStream } from "./stream.ts";

type MessageInput = Exclude<RunRequest["input"], string | undefined>[number];

/** One request of a page, with what the server has of its thread. */
interface Chat extends Talk {
  readonly request: ChatRequest;
  readonly isAdmin: boolean;
}

const encoderFor = ({ request: { dialect } }: Chat, tools: readonly { readonly id: string }[]): AiSdkEncoder =>
  new AiSdkEncoder({ dialect, frontendTools: tools.map(({ id }) => id) });

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

/** What comes is an answer of its own: of a run that goes on, what it said before is another message. */
function answering(chat: Chat, followed: Followed, open: RunRecord | undefined): FrameReply {
  const { past, events, runId, threadId: thread } = followed;
  const encoder = encoderFor(chat, [...(open?.activation.options.frontendTools ?? []), ...chat.request.tools]);
  for (const event of past) encoder.encode(event);
  const { answers } = encoder;
  const stream = new ChatStream(encoder, past.length === 0 ? {} : { isFirst: () => encoder.answers > answers });
  return { events, runId, threadId: thread, encoder: stream };
}

async function say(chat: Chat, input: readonly MessageInput[]): Promise<FrameReply> {
  const waiting = chat.open?.status === "waiting" ? chat.open : undefined;
  return answering(chat, await submit(chat, toRequest(chat, input)), waiting);
}

/** What comes is more of the message that the page has, and what became of the calls that it speaks of. */
function continuing(chat: Chat, run: RunRecord, followed: Followed, said: readonly Said[]): FrameReply {
  const { past, events, runId, threadId: thread, waiting } = followed;
  const encoder = encoderFor(chat, run.activation.options.frontendTools);
  for (const event of past) encoder.encode(event);
  const head = encoder.recall(said.map(({ toolCallId }) => toolCallId));
  return { events, runId, threadId: thread, encoder: new ChatStream(encoder, { head, waiting }) };
}

/** What was answered does not wait any more: the page is told what became of it. */
async function repeat(chat: Chat, said: readonly Said[]): Promise<FrameReply> {
  const run = chat.open ?? (await chat.tenant.records.runs.loadLatest(threadId(chat.thread)));
  if (run === undefined) throw refuse("there is nothing new in the request");
  const followed = await followRun(chat, run);
  if (followed.isLive) return continuing(chat, run, followed, said);
  const encoder = encoderFor(chat, run.activation.options.frontendTools);
  for (const event of followed.past) encoder.encode(event);
  const chunks = encoder.repeat(said.map(({ toolCallId }) => toolCallId));
  return { events: followed.events, runId: run.runId, threadId: run.threadId, encoder: saidStream(chunks) };
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
  return say({ ...chat, open: undefined }, [{ role: "user", content: asked.content, id }]);
}

async function edit(chat: Chat, input: readonly MessageInput[], id: string): Promise<FrameReply> {
  const { tenant, thread } = chat;
  await clear(chat);
  await tenant.runtime.rewind(thread, { toMessageId: id });
  return say({ ...chat, open: undefined }, input);
}

/** What a page asks for, from its request to the frames of the answer. */
export async function chat(tenant: Tenant, request: ChatRequest, isAdmin: boolean): Promise<FrameReply> {
  const asked: Chat = { ...(await openTalk(tenant, request.threadId)), request, isAdmin };
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
async function decideOrRepeat(chat: Chat, open: RunRecord, decisions: readonly AboutTicket[], said: readonly Said[]): Promise<FrameReply> {
  try {
    const followed = await decide(chat, open, decisions);
    if (followed !== undefined) return continuing(chat, open, followed, said);
  } catch (thrown) {
    if (!isGone(thrown)) throw thrown;
  }
  return repeat({ ...chat, open: undefined }, said);
}

/** A message, and with it what was decided about calls of the run that waits. */
async function answer(chat: Chat, input: readonly MessageInput[], decisions: readonly AboutTicket[]): Promise<FrameReply> {
  const { tenant, open } = chat;
  const own = decisions.filter(({ of }) => of.runId === open?.runId);
  if (open?.status !== "waiting" || own.length === 0) return say(chat, input);
  const { agent: _, ...request } = { agent: undefined, ...toRequest(chat, input) };
  const given = own.map(({ ticket, decision }) => ({ ticket, decision }));
  const followed = await takeUp(chat, open, () => tenant.runtime.stream({ ...request, resume: open.runId, decisions: given }));
  return answering(chat, followed, open);
}
