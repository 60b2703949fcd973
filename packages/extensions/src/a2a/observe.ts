import { AwakenError } from "@awaken/contract";
import { type Clock, onAbort } from "@awaken/runtime";
import { type Conversation, isPassing, remoteError } from "./conversation.ts";
import type { Setup } from "./setup.ts";
import { type TaskView, viewTask, withItem } from "./task-view.ts";

interface Watch {
  readonly setup: Setup;
  readonly conversation: Conversation;
  readonly signal: AbortSignal;
  /** Hears of every change, and says whether nothing more is to be waited for. */
  onView(view: TaskView): boolean;
}

interface Seen {
  readonly view: TaskView;
  readonly isOver: boolean;
}

const QUERY = {
  unreached: "failed to query task",
  refused: "task query rejected",
  unreadable: "failed to decode task status",
};

/** Waits, or rejects when the signal aborts. */
function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    let stop = () => {};
    const off = onAbort(signal, () => {
      stop();
      reject(signal.reason);
    });
    if (signal.aborted) return;
    stop = clock.timer(ms, () => {
      off();
      resolve();
    });
  });
}

/** What the stream says until it ends, breaks or is refused. What it says and cannot be read fails. */
async function follow({ conversation, signal, onView }: Watch, view: TaskView): Promise<Seen> {
  const { client, hide } = conversation;
  let known = view;
  try {
    for await (const item of client.resubscribeTask({ id: view.taskId, tenant: "" }, { signal })) {
      known = withItem(known, item, hide);
      if (onView(known)) return { view: known, isOver: true };
    }
  } catch (thrown) {
    if (AwakenError.is(thrown) || signal.aborted) throw thrown;
  }
  return { view: known, isOver: false };
}

/** Looks at the task, at once and then again and again. What may pass is waited out: the deadline is the caller's. */
async function poll({ setup, conversation, signal, onView }: Watch, view: TaskView): Promise<TaskView> {
  const { clock, options } = setup;
  const { historyLength, pollIntervalMs } = options;
  const query = { id: view.taskId, tenant: "", ...(historyLength === undefined ? undefined : { historyLength }) };
  for (;;) {
    try {
      const known = viewTask(await conversation.client.getTask(query, { signal }), conversation.hide);
      if (known.taskId !== view.taskId) throw new Error(`the agent answered with task '${conversation.hide(known.taskId)}'`);
      if (onView(known)) return known;
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      if (!isPassing(thrown)) throw remoteError(thrown, QUERY, conversation.hide);
    }
    await pause(clock, pollIntervalMs, signal);
  }
}

/** Until the task is over. */
export async function observe(watch: Watch, view: TaskView): Promise<TaskView> {
  const seen = watch.setup.options.streaming ? await follow(watch, view) : { view, isOver: false };
  return seen.isOver ? seen.view : poll(watch, seen.view);
}
