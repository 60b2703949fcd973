import { AwakenError, type Message, type Termination } from "@awaken/contract";
import { command } from "../phase/command.ts";
import { runLifecycle } from "../state/run-lifecycle.ts";
import { crossBoundary } from "./boundary.ts";
import type { RunContext } from "./run-context.ts";

/** Also what the run begins with may be news: what they say of a task is on record with them. */
export async function readInput(ctx: RunContext): Promise<void> {
  await ctx.tasks.ready();
  const { readNews } = await ctx.seldom.open();
  readNews(
    ctx,
    ctx.input.map(({ message }) => message),
  );
}

/** Whether it says what became of a task. Nobody sent it, and nobody takes it back: the thread's record has the task running until it is read. */
export const isNews = ({ message }: { readonly message: Message }): boolean => message.metadata?.task !== undefined;

/**
 * Before the first step: what came to the thread's tasks meanwhile is read. A run that was woken for nothing waits on, and gives the
 * termination that it has so.
 */
export async function openTasks(ctx: RunContext, wasAwaiting: boolean, canRead: boolean): Promise<Termination | undefined> {
  const { tasks } = ctx;
  const ready = tasks.hasAny ? tasks.ready() : undefined;
  if (ready instanceof Promise) await ready;
  // What the run before could not deliver.
  if (tasks.hasOutbox) await tasks.deliver();
  if (!tasks.hasAny) return undefined;
  ctx.landing.lookAgain();
  // Before those of this process, which came later.
  let isNew = canRead && (await crossBoundary(ctx, "next-step"));
  const earlier = await tasks.open();
  if (earlier.length > 0) ctx.inbox.push({ type: "messages", messages: earlier });
  if (!canRead) return undefined;
  isNew = (await crossBoundary(ctx, "next-step")) || isNew;
  if (!wasAwaiting || isNew || ctx.input.length > 0 || !tasks.hasRunning) return undefined;
  ctx.state.commit(command().update(runLifecycle, { type: "set-waiting", reason: "awaiting-tasks", at: ctx.clock.now() }));
  return { type: "natural-end" };
}

const isLost = (reason: unknown): boolean => AwakenError.is(reason) && reason.code === "fence_lost";

/** What a run that was told to stop has started stops with it. One that somebody else has by now leaves it to him. */
export async function cancelTasks(ctx: RunContext, termination: Termination): Promise<void> {
  if (termination.type === "cancelled" && ctx.tasks.hasAny && !isLost(ctx.signal.reason)) await ctx.tasks.cancel();
}
