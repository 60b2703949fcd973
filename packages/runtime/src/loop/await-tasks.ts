import type { Message, Termination } from "@awaken/contract";
import { command } from "../phase/command.ts";
import { runLifecycle } from "../state/run-lifecycle.ts";
import { whenReady } from "../stream/queue-ready.ts";
import { crossBoundary } from "./boundary.ts";
import { commitStep } from "./finish.ts";
import { readNews, untold } from "./read-news.ts";
import type { RunContext } from "./run-context.ts";

/** Also what the run begins with may be news: what they say of a task is on record with them. */
export async function readInput(ctx: RunContext): Promise<void> {
  await ctx.tasks.ready();
  readNews(
    ctx,
    ctx.input.map(({ message }) => message),
  );
}

const waitForTasks = (ctx: RunContext): Termination => {
  ctx.state.commit(command().update(runLifecycle, { type: "set-waiting", reason: "awaiting-tasks", at: ctx.clock.now() }));
  return { type: "natural-end" };
};

/** What is thought to be lost may be told in there. Looked at when it is thought so: what comes to wait later was not over. */
const unread = async ({ landing }: RunContext): Promise<readonly Message[]> =>
  ((await landing.holding?.waiting()) ?? []).map(({ message }) => message);

/** What `openTasks` comes to when the thread has some, or messages that are to be sent. */
export async function lookAfterTasks(ctx: RunContext, wasAwaiting: boolean, canRead: boolean): Promise<Termination | undefined> {
  const { tasks } = ctx;
  if (tasks.hasAny) await tasks.ready();
  // What the run before could not deliver.
  if (tasks.hasOutbox) await tasks.deliver();
  // What became of tasks is found out by a run that can read it: found before, it would be told, and its task still be at work.
  return tasks.hasAny && canRead ? readTasks(ctx, wasAwaiting) : undefined;
}

export async function readTasks(ctx: RunContext, wasAwaiting: boolean): Promise<Termination | undefined> {
  const { tasks } = ctx;
  await tasks.ready();
  ctx.landing.holding?.mail?.();
  // Before those of this process, which came later.
  let isNew = await crossBoundary(ctx, "next-step");
  const found = await tasks.open();
  const earlier = found.length === 0 ? found : untold(found, await unread(ctx));
  if (earlier.length > 0) ctx.inbox.push({ type: "messages", messages: earlier });
  isNew = (await crossBoundary(ctx, "next-step")) || isNew;
  if (!wasAwaiting || isNew || ctx.input.length > 0 || !tasks.hasRunning) return undefined;
  return waitForTasks(ctx);
}

/** The model has nothing more to do, and something is at work in the background. */
export async function awaitTasks(ctx: RunContext): Promise<Termination | undefined> {
  if (ctx.signal.aborted) return { type: "cancelled" };
  // What came while the answer was judged is read before anybody waits for it.
  if (ctx.inbox.size > 0 && (await crossBoundary(ctx, "on-natural-end"))) {
    await commitStep(ctx);
    return undefined;
  }
  // One with records of its own parks, and the call that waits for it too.
  if (ctx.identity.origin !== "subagent" || ctx.landing.holding !== undefined) {
    return waitForTasks(ctx);
  }
  await commitStep(ctx);
  do {
    await whenReady(ctx.inbox, ctx.signal);
    if (ctx.signal.aborted) return { type: "cancelled" };
    if (ctx.inbox.isClosed && ctx.inbox.size === 0) return { type: "natural-end" };
  } while (!(await crossBoundary(ctx, "on-natural-end")));
  return undefined;
}
