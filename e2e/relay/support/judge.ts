import { type AgentEvent, isJsonObject } from "@awaken/contract";
import type { AttachedEvent } from "@awaken/runtime";
import { checkEvents } from "@awaken/runtime/testing";
import { expect } from "vitest";

const SNAPSHOT: AgentEvent = { type: "state-snapshot", snapshot: { schemaVersion: 1, revision: 0, extensions: {} } };

/** The checker wants the state before each end, which a follower need not hear. */
const withSnapshots = (events: readonly AgentEvent[]): readonly AgentEvent[] =>
  events.flatMap((event): readonly AgentEvent[] => {
    if (event.type === "state-snapshot") return [];
    return event.type === "step-end" || event.type === "run-end" ? [SNAPSHOT, event] : [event];
  });

/** What is told of runs below while the run waits belongs to the activation that comes. One that was cut off, or tried again, has no end. */
export function activationsOf(events: readonly AttachedEvent[]): readonly (readonly AgentEvent[])[] {
  const all: AgentEvent[][] = [[]];
  for (const { cursor: _cursor, ...event } of events) {
    if (event.type === "run-start" && all.at(-1)?.some(({ type }) => type === "run-start")) all.push([]);
    all.at(-1)?.push(event);
    if (event.type === "run-end") all.push([]);
  }
  return all.filter((activation) => activation.length > 0);
}

interface Scene {
  isRunning: boolean;
  isStreaming: boolean;
  /** The state was told in this step: its round comes before that. */
  isRoundOver: boolean;
  readonly over: Set<string>;
}

function placeError(scene: Scene, event: AgentEvent): string | undefined {
  if (!scene.isRunning) return "is outside of a run";
  if (event.type === "inference-retry") return scene.isStreaming ? undefined : "is outside of an answer";
  if (scene.isStreaming) return "is inside of an answer";
  if (event.type !== "tool-call-run" && event.type !== "tool-call-stream-delta") return undefined;
  return scene.over.has(event.toolCallId) ? "comes when its call is over" : undefined;
}

const PASSING: readonly string[] = ["inference-retry", "tool-call-run", "tool-call-stream-delta", "activity-snapshot", "state-snapshot"];

/** Whether each event that only listeners hear is where it belongs. */
export function checkPassing(events: readonly AttachedEvent[]): void {
  const scene: Scene = { isRunning: false, isStreaming: false, isRoundOver: false, over: new Set() };
  for (const [index, event] of events.entries()) {
    const isLate = event.type === "tool-call-end" && scene.isRoundOver;
    const wrong = PASSING.includes(event.type) ? placeError(scene, event) : isLate ? "comes behind the state" : undefined;
    const around = events.slice(Math.max(0, index - 6), index + 4).map(({ type }) => type);
    if (wrong !== undefined) expect.fail(`event ${index} (${event.type}) ${wrong}: ${around.join(" ")}`);
    note(scene, event);
  }
}

function note(scene: Scene, event: AgentEvent): void {
  switch (event.type) {
    case "run-start":
    case "run-end":
      scene.isRunning = event.type === "run-start";
      scene.isStreaming = false;
      scene.isRoundOver = false;
      if (event.type === "run-start" && !event.resumed) scene.over.clear();
      return;
    case "step-start":
    case "inference-end":
      scene.isStreaming = event.type === "step-start";
      scene.isRoundOver = false;
      return;
    case "state-snapshot":
      scene.isRoundOver = true;
      return;
    case "tool-call-ready":
      scene.over.delete(event.toolCallId);
      return;
    case "tool-call-end":
      if (event.outcome !== "suspended") scene.over.add(event.toolCallId);
      return;
    case "tool-call-resumed":
      scene.over.add(event.toolCallId);
      return;
    case "step-end":
      scene.isRoundOver = false;
  }
}

function checkActivation(events: readonly AgentEvent[]): void {
  try {
    checkEvents(events);
  } catch (thrown) {
    expect.fail(`${String(thrown)}: ${events.map(({ type }) => type).join(" ")}`);
  }
}

/** All that a follower of a thread was told from the start of a run on. */
export function checkFollowed(events: readonly AttachedEvent[]): void {
  checkPassing(events);
  const all = activationsOf(events);
  // A run that waits can be ended without going on.
  for (const activation of all) {
    const isWhole = activation.at(-1)?.type === "run-end" && activation.some(({ type }) => type === "run-start");
    if (isWhole) checkActivation(withSnapshots(activation));
  }
}

/** The last word on each activity. */
export function activitiesOf(events: readonly AgentEvent[]): Readonly<Record<string, unknown>> {
  const last: Record<string, unknown> = {};
  for (const event of events) {
    if (event.type !== "activity-snapshot" || !isJsonObject(event.content)) continue;
    last[event.messageId] = event.activityType === "background-task" ? event.content["status"] : event.content["progress"];
  }
  return last;
}
