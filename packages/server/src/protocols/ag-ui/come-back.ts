import { type RunRecord, threadId } from "@awaken/contract";
import type { AttachedEvent } from "@awaken/runtime";
import { activeRun, type FrameReply, type Tenant, theThread } from "../../routes/served.ts";
import { isOver, openTickets } from "../../routes/talk.ts";
import { tellEvents, telling, until } from "../../routes/told-events.ts";
import type { AgUiEncoder } from "./encoder.ts";
import type { AgUiFrame } from "./frame.ts";
import { AgUiStream, loadMessages, NOTHING } from "./run.ts";

const isEnd = ({ type }: AttachedEvent): boolean => type === "run-end";

/** The messages that a stream writes. */
const idsIn = (frames: readonly AgUiFrame[]): readonly string[] =>
  frames.flatMap((frame) => {
    if (frame.type === "TEXT_MESSAGE_START" || frame.type === "TOOL_CALL_RESULT") return [frame.messageId];
    return frame.type === "TOOL_CALL_START" ? [frame.parentMessageId] : [];
  });

/** What the events from there on write. */
function writtenIn(past: readonly AttachedEvent[], from: number, encoder: AgUiEncoder): ReadonlySet<string> {
  const frames = past.map((event) => encoder.encode(event));
  return new Set(frames.slice(from).flatMap(idsIn));
}

/** The activation that is at work, from its beginning. What it writes it writes again, so that is not among the messages that are given before. */
async function working(tenant: Tenant, { runId, threadId: thread }: RunRecord, open: () => AgUiEncoder): Promise<FrameReply | undefined> {
  const messages = await loadMessages(tenant, thread);
  const { past, coming } = await tellEvents(tenant.runtime, runId);
  if (isOver(past)) {
    await coming.return?.();
    return undefined;
  }
  const from = past.findLastIndex(isEnd) + 1;
  const written = writtenIn(past, from, open());
  const encoder = open();
  for (const event of past.slice(0, from)) encoder.encode(event);
  encoder.begin({ messages: messages.filter(({ id }) => !written.has(id)), isAnew: true });
  const events = until(telling(tenant, coming), { past: past.slice(from), isLast: isEnd });
  return { events, runId, threadId: thread, encoder: new AgUiStream(encoder) };
}

/** For a client that lost its stream, or was loaded again: all messages, and what is written now, or what is waited for. */
export async function comeBack(tenant: Tenant, thread: string, open: () => AgUiEncoder): Promise<FrameReply> {
  const active = await activeRun(tenant, await theThread(tenant, thread));
  const live = active?.status === "running" ? await working(tenant, active, open) : undefined;
  if (live !== undefined) return live;
  const run = await tenant.records.runs.loadLatest(threadId(thread));
  const tickets = run?.status === "waiting" ? await openTickets({ tenant }, run) : [];
  const encoder = open();
  encoder.begin({ messages: await loadMessages(tenant, thread), isAnew: true });
  const last = () => encoder.settle({ threadId: thread, runId: run?.runId ?? thread }, tickets);
  return { events: NOTHING, threadId: thread, encoder: new AgUiStream(encoder, last) };
}
