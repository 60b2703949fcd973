import {
  dispatchId,
  type Message,
  messageId,
  perObject,
  type RunId,
  runId,
  type TaskEvent,
  type TaskRecord,
  type ThreadId,
  threadId,
} from "@awaken/contract";
import type { AgentMessageRequest } from "../loop/message-sink.ts";
import { taskMessage } from "../loop/task-message.ts";
import { storedTasks } from "../state/task-records.ts";
import { uuidIds } from "../stream/ids.ts";
import { isThere, sendAgentMessage } from "./agent-message.ts";
import { inOne, type Ports } from "./in-one.ts";
import { NEWS } from "./parent-wake.ts";
import type { Tenant } from "./tenant.ts";

/** Whoever does not know whether the store has them posts the same news once more. */
const idOf = perObject((_: TaskEvent) => messageId(uuidIds()));

/**
 * Puts news of a task on a thread, for whatever run is open there or for this one alone, with a dispatch that wakes it. Gives the run that
 * will read them, undefined when none is open or they are nobody's, and false when the one that they are for is over.
 */
export async function postTask(
  tenant: Tenant,
  thread: ThreadId,
  event: TaskEvent,
  of?: RunId | TaskRecord,
): Promise<RunId | undefined | false> {
  const { queue, ask } = tenant;
  const id = idOf(event);
  const target = typeof of === "string" ? of : undefined;
  try {
    return await postMessage(tenant, thread, taskMessage(id, event), of);
  } catch (thrown) {
    if (!isThere(thrown, id)) throw thrown;
    return target ?? (await ask("load a thread", queue.threads.load(thread)))?.openRunId;
  }
}

/**
 * Whether a task that is code was taken back with the step that started it: its run went on from its last commit, and the same call may have
 * started another one, under the same id. Nobody asked about one whose run is not there any more either.
 */
async function isTakenBack({ threads, runs }: Ports, task: TaskRecord): Promise<boolean> {
  const { taskId, ownerThreadId, childRunId, host, createdAt, parent } = task;
  // An agent is a run, whichever attempt has started it.
  if (childRunId !== undefined) return false;
  const known = storedTasks(await threads.loadState(ownerThreadId)).find((each) => each.taskId === taskId);
  if (known !== undefined) return known.host !== host || known.createdAt !== createdAt;
  const run = parent.runId === undefined ? undefined : await runs.load(parent.runId);
  return parent.runId !== undefined && (run === undefined || run.status === "running");
}

async function postMessage(
  tenant: Tenant,
  thread: ThreadId,
  message: Message,
  of?: RunId | TaskRecord,
): Promise<RunId | undefined | false> {
  const { ids, maxAttempts } = tenant;
  const [target, task] = typeof of === "string" ? [of, undefined] : [undefined, of];
  return inOne(tenant, "keep news of a task", async (ports) => {
    if (task !== undefined && (await isTakenBack(ports, task))) return undefined;
    const owner = target === undefined ? await ports.threads.load(thread) : undefined;
    // Whoever started the task was there: his thread was deleted, and does not come back for it.
    if (target === undefined && owner === undefined && message.metadata?.task !== undefined) return undefined;
    const openId = target ?? owner?.openRunId;
    const open = openId === undefined ? undefined : await ports.runs.load(openId);
    if (target !== undefined && (open === undefined || open.status === "done")) return false;
    const mode = target === undefined ? NEWS : { ...NEWS, targetRunId: target, fallbackToNewRun: false };
    // One that has not begun has a dispatch, and finds them.
    const isWoken = open !== undefined && open.status !== "done" && open.status !== "created";
    const dispatch = isWoken ? { dispatchId: dispatchId(ids()), threadId: thread, runId: open.runId, maxAttempts } : undefined;
    await ports.commit({
      threadId: thread,
      runId: open?.runId ?? runId(ids()),
      pending: { append: [{ message, deliveryMode: mode }] },
      ...(dispatch === undefined ? undefined : { dispatch: { type: "enqueue", dispatch } }),
    });
    return open?.runId;
  });
}

/**
 * A message of an agent for another thread. A run that waits there reads it when it goes on, and is woken if it waits for nothing but news:
 * its tickets stay open. Else a run of its own answers it.
 */
export async function postAgentMessage(tenant: Tenant, request: AgentMessageRequest): Promise<string> {
  const { messageId: id, recipientThreadId, recipientAgentId, senderAgentId, message } = request;
  const { queue, ask } = tenant;
  const thread = threadId(recipientThreadId);
  const open = (await ask("load a thread", queue.threads.loadHead(thread)))?.openRun;
  if (open?.status !== "waiting" || (recipientAgentId !== null && recipientAgentId !== open.agentId)) {
    const agent = recipientAgentId === null ? undefined : { recipientAgentId };
    return sendAgentMessage(tenant, { messageId: id, recipientThreadId, ...agent, senderAgentId, text: message });
  }
  const content = [{ type: "text", text: message }] as const;
  try {
    await postMessage(tenant, thread, { id: messageId(id), role: "user", content, metadata: { senderAgentId } });
  } catch (thrown) {
    if (!isThere(thrown, messageId(id))) throw thrown;
  }
  return id;
}
