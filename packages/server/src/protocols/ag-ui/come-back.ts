import { type RunRecord, threadId } from "@awaken/contract";
import type { AttachedEvent } from "@awaken/runtime";
import { tellRun } from "../../routes/retell.ts";
import { activeRun, type FrameReply, type Tenant, theThread } from "../../routes/served.ts";
import { isAtRest, isAtWork, openTickets } from "../../routes/talk.ts";
import { telling, until } from "../../routes/told-events.ts";
import { AgUiEncoder } from "./encoder.ts";
import type { AgUiDialect, AgUiFrame } from "./frame.ts";
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

/**
 * The activation that is at work or will begin, from its beginning. What it writes it writes again, so that is not among the messages that are given before.
 * Undefined when it has come to rest meanwhile.
 */
async function working(tenant: Tenant, run: RunRecord, dialect: AgUiDialect): Promise<FrameReply | undefined> {
  const { runId, threadId: thread } = run;
  const messages = await loadMessages(tenant, thread, dialect);
  const { past, coming } = await tellRun(tenant, run);
  if (isAtRest(past)) {
    await coming.return?.();
    return undefined;
  }
  const from = past.findLastIndex(isEnd) + 1;
  const written = writtenIn(past, from, new AgUiEncoder({ dialect }));
  const encoder = new AgUiEncoder({ dialect });
  for (const event of past.slice(0, from)) encoder.encode(event);
  encoder.begin({ messages: messages.filter(({ id }) => !written.has(id)), isAnew: true });
  const events = until(telling(tenant, coming), { past: past.slice(from), isLast: isEnd });
  return { events, runId, threadId: thread, encoder: new AgUiStream(encoder) };
}

/** The run that works or will begin; else the one that the thread has come to. */
async function runOf(tenant: Tenant, thread: string): Promise<RunRecord | undefined> {
  const active = await activeRun(tenant, await theThread(tenant, thread));
  return active?.status === "running" ? active : tenant.records.runs.loadLatest(threadId(thread));
}

/** How often a run may come to rest and go on while it is looked at. */
const MAX_LOOKS = 3;

/** For a client that lost its stream, or was loaded again: all messages, and what is written now, or what is waited for. */
export async function comeBack(tenant: Tenant, thread: string, dialect: AgUiDialect): Promise<FrameReply> {
  let run = await runOf(tenant, thread);
  for (let looks = 0; looks < MAX_LOOKS && run !== undefined && isAtWork(run); looks++) {
    const live = await working(tenant, run, dialect);
    if (live !== undefined) return live;
    run = await runOf(tenant, thread);
  }
  const tickets = run?.status === "waiting" ? await openTickets({ tenant }, run) : [];
  const encoder = new AgUiEncoder({ dialect });
  encoder.begin({ messages: await loadMessages(tenant, thread, dialect), isAnew: true });
  const last = () => encoder.settle({ threadId: thread, runId: run?.runId ?? thread }, tickets);
  return { events: NOTHING, threadId: thread, encoder: new AgUiStream(encoder, { last }) };
}
