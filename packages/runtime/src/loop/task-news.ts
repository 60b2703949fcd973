import type { Message, Termination } from "@awaken/contract";
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

const lookAfterTasks = async (ctx: RunContext, wasAwaiting: boolean, canRead: boolean): Promise<Termination | undefined> =>
  (await ctx.seldom.open()).lookAfterTasks(ctx, wasAwaiting, canRead);
