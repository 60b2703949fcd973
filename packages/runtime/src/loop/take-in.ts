import { AwakenError, type Message, messageId } from "@awaken/contract";
import { type Boundary, inputModeOf, MAX_COMMIT_ATTEMPTS, type PendingRecord } from "@awaken/contract/store";
import type { TakenIn } from "../commit/compose.ts";
import { compact, isLogged } from "../commit/log-places.ts";
import type { InboxItem } from "../plugin/inbox.ts";
import { copyOf } from "../plugin/sent.ts";
import type { Late } from "../stream/door.ts";
import { acceptedInput, type Incoming } from "./accepted-input.ts";
import { tellEnd } from "./child-end.ts";
import { readNews, untold } from "./read-news.ts";
import type { RunContext } from "./run-context.ts";
import { endIn, taskMessage } from "./task-message.ts";

async function consume(ctx: RunContext, item: InboxItem): Promise<readonly Message[]> {
  switch (item.type) {
    case "messages":
      return item.messages;
    case "task":
      return [taskMessage(messageId(ctx.ids()), item.event)];
    case "wake":
      return [];
    case "compaction": {
      const swap = item.notice.swap(ctx.state.snapshot());
      const isSwapped = swap !== undefined && compact(ctx.transcript, swap.upTo, copyOf("a summary", swap.summary));
      const booked = item.notice.bookkeep(ctx.state.snapshot(), isSwapped);
      if (booked !== undefined) await ctx.phases.submit(booked);
      return [];
    }
  }
}

/** What people sent; news of background work is nobody's input. */
function accept(ctx: RunContext, incoming: readonly Incoming[]): void {
  const visible = incoming.filter(({ message }) => message.visibility !== "internal");
  for (const event of acceptedInput(visible)) ctx.emit(event);
}

/** An agent that was started in the background is told to be over when the run reads so. */
async function tellAgents(ctx: RunContext, messages: readonly Message[]): Promise<void> {
  for (const { metadata } of messages) {
    if (metadata?.task === undefined || metadata.task.kind === "custom") continue;
    const id = ctx.tasks.childOf(metadata.task.taskId);
    const end = id === undefined ? undefined : await ctx.children.find(id);
    if (end !== undefined) tellEnd(ctx, end);
  }
}

/** What the run knows, and what it is about to read. */
const toldOf = async ({ transcript, landing }: RunContext, at: Boundary): Promise<readonly Message[]> =>
  ((await landing.holding?.waiting(at)) ?? []).map(({ message }) => message).concat(transcript.messages);

const takenInOf = (boundary: Boundary, waiting: readonly PendingRecord[]): TakenIn => ({
  messages: waiting.map(({ message }) => message),
  consume: { boundary, entries: waiting.map(({ pendingId, revision }) => ({ pendingId, revision })) },
});

/** Looks again when somebody changed the queue meanwhile. */
async function takeQueued(ctx: RunContext, at: Boundary, write: (takenIn: TakenIn) => Late<undefined>): Promise<readonly PendingRecord[]> {
  for (let attempt = 1; ; attempt++) {
    const waiting = (await ctx.landing.holding?.waiting(at)) ?? [];
    if (waiting.length === 0) return waiting;
    const takenIn = takenInOf(at, waiting);
    readNews(ctx, takenIn.messages);
    try {
      await write(takenIn);
      return waiting;
    } catch (thrown) {
      const isOvertaken = AwakenError.is(thrown) && thrown.code === "pending_selection_conflict";
      if (!isOvertaken || attempt === MAX_COMMIT_ATTEMPTS) throw thrown;
    }
  }
}

/** As `crossBoundary`, when there is something. */
export async function takeIn(ctx: RunContext, at: Boundary): Promise<boolean> {
  const arrived: Message[] = [];
  for (const item of ctx.inbox.drain()) arrived.push(...(await consume(ctx, item)));
  readNews(ctx, arrived);
  // Senders try again when they are not sure; the log has room for a message once.
  const unseen = arrived.filter((message) => !isLogged(ctx.transcript, message.id));
  const fresh = unseen.some((message) => endIn(message) !== undefined) ? untold(unseen, await toldOf(ctx, at)) : unseen;
  for (const message of fresh) ctx.transcript.append(message);
  const sent = fresh.map((message) => ({ message, mode: "steer" }) as const);
  if (sent.length > 0) accept(ctx, sent);
  const queued = await ctx.writer.takeIn((write) => takeQueued(ctx, at, write));
  if (queued.length > 0)
    accept(
      ctx,
      queued.map((entry) => ({ message: entry.message, mode: inputModeOf(entry) })),
    );
  await tellAgents(ctx, [...fresh, ...queued.map(({ message }) => message)]);
  return fresh.length + queued.length > 0;
}
