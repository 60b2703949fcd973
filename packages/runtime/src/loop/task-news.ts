import { AwakenError, type Message, type Termination } from "@awaken/contract";
import type { Late } from "../stream/door.ts";
import type { RunContext } from "./run-context.ts";

/** Whether it says what became of a task. Nobody sent it, and nobody takes it back: the thread's record has the task running until it is read. */
export const isNews = ({ message }: { readonly message: Message }): boolean => message.metadata?.task !== undefined;

/**
 * Before the first step: what came to the thread's tasks meanwhile is read. A run that was woken for nothing waits on, and gives the
 * termination that it has so. One that cannot read yet does so when its calls are over (`suspend.ts`).
 */
export function openTasks(ctx: RunContext, wasAwaiting: boolean, canRead: boolean): Late<Termination | undefined> {
  return ctx.tasks.hasAny || ctx.tasks.hasOutbox ? lookAfterTasks(ctx, wasAwaiting, canRead) : undefined;
}

async function lookAfterTasks(ctx: RunContext, wasAwaiting: boolean, canRead: boolean): Promise<Termination | undefined> {
  const { tasks } = ctx;
  const ready = tasks.hasAny ? tasks.ready() : undefined;
  if (ready instanceof Promise) await ready;
  // What the run before could not deliver.
  if (tasks.hasOutbox) await tasks.deliver();
  // What became of tasks is found out by a run that can read it: found before, it would be told, and its task still be at work.
  if (!tasks.hasAny || !canRead) return undefined;
  return (await ctx.seldom.open()).readTasks(ctx, wasAwaiting);
}

const isLost = (reason: unknown): boolean => AwakenError.is(reason) && reason.code === "fence_lost";

/** What a run that was told to stop has started stops with it. One that somebody else has by now leaves it to him. */
export function cancelTasks(ctx: RunContext, termination: Termination): Promise<void> | undefined {
  return termination.type === "cancelled" && ctx.tasks.hasAny && !isLost(ctx.signal.reason) ? ctx.tasks.cancel() : undefined;
}
