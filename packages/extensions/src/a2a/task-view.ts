import {
  type Message,
  Role,
  type Artifact as SdkArtifact,
  type StreamResponse,
  type Task,
  type TaskStatus,
  taskStateToJSON,
} from "@a2a-js/sdk";
import { type Artifact, toJson } from "@awaken/contract";
import { appended, artifactFacts, type Hide, type PartView, textOf, viewParts } from "./parts.ts";
import { DIRECT_MESSAGE } from "./stored-task.ts";

interface ArtifactView {
  readonly id: string;
  readonly name: string;
  readonly parts: readonly PartView[];
}

/** A task as far as it is known here. */
export interface TaskView {
  readonly taskId: string;
  readonly contextId: string;
  /** `TASK_STATE_WORKING`, … */
  readonly state: string;
  /** Tells this state from the same one at another time; empty when the agent does not say. */
  readonly statusMark: string;
  /** What the agent said with its state; empty when it said nothing. */
  readonly statusText: string;
  /** What it said before. */
  readonly spokenText: string;
  readonly artifacts: readonly ArtifactView[];
}

const OVER: ReadonlySet<string> = new Set([
  ...["TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED"],
  ...["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED", DIRECT_MESSAGE],
]);

/** Nothing more comes of it until somebody says something. */
export const isOver = ({ state }: TaskView): boolean => OVER.has(state);

const markOf = (status: TaskStatus | undefined): string => {
  const [at, message] = [status?.timestamp ?? "", status?.message?.messageId ?? ""];
  return at === "" && message === "" ? "" : `${at} ${message}`;
};

const messageText = (message: Message | undefined, hide: Hide): string =>
  message === undefined ? "" : textOf(viewParts(message.parts, hide));

const artifactView = ({ artifactId, name, parts }: SdkArtifact, hide: Hide): ArtifactView => ({
  id: hide(artifactId),
  name: hide(name),
  parts: viewParts(parts, hide),
});

export function viewTask({ id, contextId, status, artifacts, history }: Task, hide: Hide): TaskView {
  const spoken = history.filter(({ role }) => role === Role.ROLE_AGENT).map((message) => messageText(message, hide));
  return {
    taskId: id,
    contextId,
    state: status === undefined ? "TASK_STATE_UNSPECIFIED" : taskStateToJSON(status.state),
    statusMark: markOf(status),
    statusText: messageText(status?.message, hide),
    spokenText: spoken.findLast((text) => text !== "") ?? "",
    artifacts: artifacts.map((artifact) => artifactView(artifact, hide)),
  };
}

/** An agent that answered at once, without a task. What is no text of its message is an artifact. */
export function viewMessage({ messageId, contextId, taskId, parts }: Message, hide: Hide): TaskView {
  const views = viewParts(parts, hide);
  const files = views.filter((part) => !("text" in part));
  return {
    taskId,
    contextId,
    state: DIRECT_MESSAGE,
    statusMark: "",
    statusText: textOf(views),
    spokenText: "",
    artifacts: files.length === 0 ? [] : [{ id: hide(messageId), name: "", parts: files }],
  };
}

function withStatus(view: TaskView, status: TaskStatus, hide: Hide): TaskView {
  const spokenText = view.statusText === "" ? view.spokenText : view.statusText;
  const statusText = messageText(status.message, hide);
  return { ...view, state: taskStateToJSON(status.state), statusMark: markOf(status), statusText, spokenText };
}

function withArtifact(view: TaskView, artifact: SdkArtifact, isMore: boolean, hide: Hide): TaskView {
  const next = artifactView(artifact, hide);
  const known = view.artifacts.find(({ id }) => id === next.id);
  if (known === undefined) return { ...view, artifacts: [...view.artifacts, next] };
  const changed = isMore ? { ...known, parts: appended(known.parts, next.parts) } : next;
  return { ...view, artifacts: view.artifacts.map((each) => (each === known ? changed : each)) };
}

/** What is known after one item of the stream. What is about another task changes nothing. */
export function withItem(view: TaskView, { payload }: StreamResponse, hide: Hide): TaskView {
  switch (payload?.$case) {
    case "task":
      return payload.value.id === view.taskId ? viewTask(payload.value, hide) : view;
    case "statusUpdate": {
      const { taskId, status } = payload.value;
      return taskId === view.taskId && status !== undefined ? withStatus(view, status, hide) : view;
    }
    case "artifactUpdate": {
      const { taskId, artifact, append } = payload.value;
      return taskId === view.taskId && artifact !== undefined ? withArtifact(view, artifact, append, hide) : view;
    }
    case "message":
      return { ...view, statusText: messageText(payload.value, hide) };
    default:
      return view;
  }
}

/** The first artifact that is text, or what the agent said last. */
export const answerText = ({ artifacts, statusText, spokenText }: TaskView): string =>
  artifacts.map(({ parts }) => textOf(parts)).find((text) => text !== "") ?? (statusText === "" ? spokenText : statusText);

export const outputArtifacts = ({ artifacts }: TaskView): readonly Artifact[] =>
  artifacts.map((artifact) => ({ ...artifactFacts(artifact, artifact.parts), content: toJson(artifact.parts) }));

/** What listeners are told of a task that goes on: what is in its artifacts comes with the answer. */
export const progressOf = (view: TaskView) =>
  toJson({
    schema: "a2a-task-progress.v1",
    taskId: view.taskId,
    contextId: view.contextId,
    state: view.state,
    text: answerText(view),
    artifacts: view.artifacts.map((artifact) => artifactFacts(artifact, artifact.parts)),
  });
