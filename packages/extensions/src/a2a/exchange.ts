import { type Message, Role } from "@a2a-js/sdk";
import { AwakenError, type BackendRequest, type BackendResult, type JsonValue } from "@awaken/contract";
import { onAbort } from "@awaken/runtime";
import { type Conversation, openConversation, remoteError, statusOf } from "./conversation.ts";
import { observe } from "./observe.ts";
import { toParts } from "./parts.ts";
import { cancelledResult, lateResult, resultOf } from "./result.ts";
import type { Setup } from "./setup.ts";
import { DIRECT_MESSAGE, isInterrupted, isUnderWay, type StoredTask, storedTask, withTask } from "./stored-task.ts";
import { isOver, progressOf, type TaskView, viewMessage, viewTask } from "./task-view.ts";

const OUTPUT_MODES = ["text/plain", "application/json", "application/octet-stream"];
/** How long the other side has to hear that nobody waits any more. */
const FAREWELL_MS = 2_000;
/** A text that grows is told this often, so that a long one is not sent again with every word. */
const PROGRESS_MS = 250;

const SUBMIT = {
  unreached: "failed to submit A2A task",
  refused: "A2A submission rejected",
  unreadable: "failed to decode A2A submission",
};

/** Where the agent is, as it is stored. */
const targetOf = ({ endpoint: { baseUrl, target } }: Setup): string =>
  `a2a:${baseUrl.replace(/\/+$/, "")}${target === undefined ? "" : `/${encodeURIComponent(target)}`}`;

/** One request to an agent, from the message to the end of its task, within one deadline. */
class Exchange {
  readonly #setup: Setup;
  readonly #request: BackendRequest;
  readonly #conversation: Conversation;
  /** Aborted by whoever asks, or at the deadline. */
  readonly #stop = new AbortController();
  /** The same, but a message that was sent has a moment to say which task it became: else nobody could end that. */
  readonly #stopSending = new AbortController();
  #isLate = false;
  #taskId: string | undefined;
  #stored: JsonValue | undefined;
  #told = { state: "", at: Number.NEGATIVE_INFINITY };

  constructor(setup: Setup, request: BackendRequest, conversation: Conversation) {
    this.#setup = setup;
    this.#request = request;
    this.#conversation = conversation;
    this.#stored = request.role === "root" ? request.remote.stored : undefined;
  }

  async run(): Promise<BackendResult> {
    const { clock, endpoint } = this.#setup;
    const offs: (() => void)[] = [];
    const onDeadline = () => {
      this.#isLate = true;
      this.#stop.abort();
      this.#stopSending.abort();
    };
    const onCancel = () => {
      this.#stop.abort();
      offs.push(clock.timer(FAREWELL_MS, () => this.#stopSending.abort()));
    };
    offs.push(clock.timer(endpoint.timeoutMs, onDeadline), onAbort(this.#request.signal, onCancel));
    try {
      const view = await this.#talk();
      return resultOf(view, this.#request);
    } catch (thrown) {
      if (!this.#stop.signal.aborted) throw thrown;
      await this.#sayFarewell();
      return this.#isLate ? lateResult(this.#request) : cancelledResult(this.#request);
    } finally {
      for (const off of offs) off();
      this.#conversation.link.close();
    }
  }

  async #talk(): Promise<TaskView> {
    const known = this.#known();
    this.#stop.signal.throwIfAborted();
    const accepted = known === undefined || !this.#isCutOff(known) ? await this.#submit(known) : taken(known);
    this.#taskId = accepted.taskId === "" ? undefined : accepted.taskId;
    // The other side may not have read what was said to a task that waited, and show the wait that was answered.
    const isAnswered = ({ statusMark }: TaskView): boolean => statusMark !== "" && statusMark === known?.statusMark;
    await this.#keep(isAnswered(accepted) ? { ...accepted, state: "TASK_STATE_WORKING" } : accepted);
    // Whoever asks went away while the message was sent.
    this.#stop.signal.throwIfAborted();
    const onView = (view: TaskView): boolean => {
      this.#tell(view);
      return isOver(view) && !isAnswered(view);
    };
    if (onView(accepted)) return accepted;
    const watch = { setup: this.#setup, conversation: this.#conversation, signal: this.#stop.signal };
    const over = await observe({ ...watch, onView }, accepted);
    await this.#keep(over);
    return over;
  }

  #known(): StoredTask | undefined {
    return this.#request.role === "root" ? storedTask(this.#stored, targetOf(this.#setup)) : undefined;
  }

  /** Its process died after the agent had accepted the task: it is not asked again, its task is looked for. */
  #isCutOff(known: StoredTask): known is StoredTask & { readonly taskId: string } {
    const { role } = this.#request;
    return known.taskId !== undefined && role === "root" && this.#request.isContinuation && isUnderWay(known, this.#request.identity.runId);
  }

  async #submit(known: StoredTask | undefined): Promise<TaskView> {
    const { client, hide } = this.#conversation;
    const { historyLength, returnImmediately } = this.#setup.options;
    const message = this.#message(known);
    const configuration = {
      acceptedOutputModes: OUTPUT_MODES,
      returnImmediately,
      taskPushNotificationConfig: undefined,
      ...(historyLength === undefined ? undefined : { historyLength }),
    };
    try {
      const sent = await client.sendMessage(
        { tenant: "", message, configuration, metadata: undefined },
        { signal: this.#stopSending.signal },
      );
      if ("messageId" in sent) return withIds(viewMessage(sent, hide), message);
      if (sent.id === "") throw new Error("the task has no id");
      return withIds(viewTask(sent, hide), message);
    } catch (thrown) {
      throw this.#stop.signal.aborted ? thrown : withHint(remoteError(thrown, SUBMIT, hide), statusOf(thrown));
    }
  }

  #message(known: StoredTask | undefined): Message {
    const { role, newMessages, messages } = this.#request;
    const turn = newMessages.length > 0 ? newMessages : messages;
    const parts = toParts(turn);
    if (parts.length === 0) throw new AwakenError("remote_failed", "execution failed: no user message content to send");
    const asker = role === "root" ? this.#request.identity.runId : (this.#request.parent.runId ?? "");
    return {
      // The same when it is sent again after a crash, so that the other side can tell.
      messageId: `${asker}:${turn.at(-1)?.id ?? ""}`,
      role: Role.ROLE_USER,
      parts,
      taskId: known !== undefined && isInterrupted(known) ? (known.taskId ?? "") : "",
      contextId: role === "root" ? (known?.contextId ?? this.#request.identity.threadId) : "",
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    };
  }

  /** On record before anything else happens: whoever comes after a crash finds the task. */
  async #keep({ taskId, contextId, state, statusMark }: TaskView): Promise<void> {
    if (this.#request.role !== "root") return;
    const { identity, remote } = this.#request;
    const task: StoredTask = {
      ...(taskId === "" || state === DIRECT_MESSAGE ? undefined : { taskId }),
      contextId: contextId === "" ? identity.threadId : contextId,
      lastState: state,
      statusMark,
      runId: identity.runId,
    };
    const kept = withTask(this.#stored, targetOf(this.#setup), task);
    this.#stored = kept;
    await remote.keep(kept);
  }

  #tell(view: TaskView): void {
    const at = this.#setup.clock.now();
    if (view.state === DIRECT_MESSAGE) return;
    if (view.state === this.#told.state && at - this.#told.at < PROGRESS_MS) return;
    this.#told = { state: view.state, at };
    const content = progressOf(view);
    this.#request.emit({ type: "activity-snapshot", messageId: view.taskId, activityType: "a2a-task-progress", content, replace: true });
  }

  /** The task is cancelled, unless another process has the run by now: it looks for the task. */
  async #sayFarewell(): Promise<void> {
    const { reason } = this.#request.signal;
    const isTaken = AwakenError.is(reason) && reason.code === "fence_lost";
    if (this.#taskId !== undefined && !isTaken) await cancelTask(this.#setup, this.#conversation, this.#taskId);
  }
}

/** What is known of a task that was accepted before this process. */
const taken = ({ taskId, contextId, lastState, statusMark }: StoredTask & { readonly taskId: string }): TaskView => ({
  ...{ taskId, contextId, state: lastState, statusMark, statusText: "", spokenText: "", artifacts: [] },
});

/** What the other side left out is what it was sent. */
const withIds = (view: TaskView, sent: Message): TaskView => ({
  ...view,
  contextId: view.contextId === "" ? sent.contextId : view.contextId,
});

function withHint(error: AwakenError, status: number | undefined): AwakenError {
  if (status !== 404) return error;
  const hint = "is this the address of its HTTP+JSON interface? The card of the agent has it (supportedInterfaces)";
  return new AwakenError(error.code, `${error.message}; ${hint}`, { details: { status } });
}

/** Best effort, and not for long: it may be over, or nobody may be there. */
async function cancelTask({ clock }: Setup, { client }: Conversation, id: string): Promise<void> {
  const stop = new AbortController();
  const off = clock.timer(FAREWELL_MS, () => stop.abort());
  try {
    await client.cancelTask({ id, tenant: "", metadata: undefined }, { signal: stop.signal });
  } catch {
    // Whoever asked is gone, and there is nobody else to tell.
  } finally {
    off();
  }
}

/** Asks the agent, and waits until its task is over. Nothing is left open when it answers. */
export async function exchange(setup: Setup, request: BackendRequest): Promise<BackendResult> {
  return new Exchange(setup, request, await openConversation(setup)).run();
}

/** Ends the task of a run that waits for somebody, or was cut off. */
export async function cancelStored(setup: Setup, stored: JsonValue | undefined, runId: string): Promise<void> {
  const known = storedTask(stored, targetOf(setup));
  if (known?.taskId === undefined || !(isInterrupted(known) || isUnderWay(known, runId))) return;
  const conversation = await openConversation(setup);
  try {
    await cancelTask(setup, conversation, known.taskId);
  } finally {
    conversation.link.close();
  }
}
