import { type Message, messageId } from "@awaken/contract";
import { type Boundary, inputModeOf } from "@awaken/contract/store";
import type { InboxItem, TaskEvent } from "../plugin/inbox.ts";
import { acceptedInput, type Incoming } from "./accepted-input.ts";
import type { RunContext } from "./run-context.ts";

/** Attribute values are quoted, and the body cannot close the tag that it stands in. */
function taskText(event: TaskEvent): string {
  const { taskId, kind, ...rest } = event;
  const body = JSON.stringify(rest).replaceAll("<", "\\u003c");
  return `<background-task-event kind=${JSON.stringify(kind)} task_id=${JSON.stringify(taskId)}>${body}</background-task-event>`;
}

function taskMessage(ctx: RunContext, event: TaskEvent): Message {
  return { id: messageId(ctx.ids()), role: "user", visibility: "internal", content: [{ type: "text", text: taskText(event) }] };
}

async function consume(ctx: RunContext, item: InboxItem): Promise<readonly Message[]> {
  switch (item.type) {
    case "messages":
      return item.messages;
    case "task":
      return [taskMessage(ctx, item.event)];
    case "wake":
      return [];
    case "compaction": {
      const swap = item.notice.swap(ctx.state.snapshot());
      const isSwapped = swap !== undefined && ctx.transcript.compact(swap.upTo, swap.summary);
      const booked = item.notice.bookkeep(ctx.state.snapshot(), isSwapped);
      if (booked !== undefined) await ctx.phases.submit(booked);
      return [];
    }
  }
}

/** Takes in what came since the last boundary. True when the model has something new to read; bookkeeping does not count. */
export function crossBoundary(ctx: RunContext, at: Boundary): boolean | Promise<boolean> {
  return ctx.inbox.size > 0 || ctx.writer.hasMail ? takeIn(ctx, at) : false;
}

/** What people sent; news of background work is nobody's input. */
function accept(ctx: RunContext, incoming: readonly Incoming[]): void {
  const visible = incoming.filter(({ message }) => message.visibility !== "internal");
  for (const event of acceptedInput(visible)) ctx.emit(event);
}

async function takeIn(ctx: RunContext, at: Boundary): Promise<boolean> {
  const arrived: Message[] = [];
  for (const item of ctx.inbox.drain()) arrived.push(...(await consume(ctx, item)));
  // Senders try again when they are not sure; the log has room for a message once.
  const fresh = arrived.filter((message) => !ctx.transcript.has(message.id));
  for (const message of fresh) ctx.transcript.append(message);
  const sent = fresh.map((message) => ({ message, mode: "steer" }) as const);
  if (sent.length > 0) accept(ctx, sent);
  const queued = await ctx.writer.takeIn(at);
  if (queued.length > 0)
    accept(
      ctx,
      queued.map((entry) => ({ message: entry.message, mode: inputModeOf(entry) })),
    );
  return fresh.length + queued.length > 0;
}
