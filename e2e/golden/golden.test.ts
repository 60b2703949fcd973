import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { type AgentEvent, EVENT_TABLE } from "@awaken/contract";
import type { AttachedEvent } from "@awaken/runtime";
import { checkEvents } from "@awaken/runtime/testing";
import { describe, expect, it } from "vitest";
import { factsOf, wordsOf } from "./shown.ts";
import { type Golden, STORIES, tell } from "./stories.ts";

// `AWAKEN_RECORD_GOLDEN=1 npx vitest run e2e/golden` writes the recorded ones anew: look at the difference before it is committed.

const FOLDER = new URL("../../packages/contract/golden/", import.meta.url);
const fileOf = (kind: string): URL => new URL(`${kind}.json`, FOLDER);
const read = (kind: string): Golden => JSON.parse(readFileSync(fileOf(kind), "utf8"));
const kinds = readdirSync(FOLDER).flatMap((name) => (name.endsWith(".json") ? [name.replace(".json", "")] : []));

describe("golden logs", () => {
  it.each(Object.entries(STORIES))("%s: the run of today is the recorded one", async (kind, story) => {
    const { activations, messages } = await tell(story);
    const told: Golden = JSON.parse(JSON.stringify({ activations, messages }));
    if (process.env["AWAKEN_RECORD_GOLDEN"] === "1") writeFileSync(fileOf(kind), `${JSON.stringify(told, null, 1)}\n`);
    expect(told).toEqual(read(kind));
  });

  it("there is one for each kind of run", () => {
    expect(kinds.toSorted()).toEqual(Object.keys(STORIES).toSorted());
  });

  it.each(kinds)("%s: keeps to the table of events and to their order", (kind) => {
    const { activations } = read(kind);
    expect(activations.length).toBeGreaterThan(0);
    for (const events of activations) checkEvents(events);
  });

  it("show every type of event that a run can have", () => {
    const shown = new Set<AgentEvent["type"]>(kinds.flatMap((kind) => read(kind).activations.flat()).map(({ type }) => type));
    // They need a dispatch that is tried again, a vendor that hides its thoughts, an outcome that was lost, a rewind, a tool that streams, and a
    // stream that starts over.
    const elsewhere = ["run-retry", "reasoning-delta", "reasoning-encrypted-value", "outcome-found", "thread-rewound"];
    const rare = ["tool-call-stream-delta", "tool-call-cancel", "stream-reset"];
    expect(
      Object.keys(EVENT_TABLE)
        .filter((type) => !shown.has(type as AgentEvent["type"]))
        .toSorted(),
    ).toEqual([...elsewhere, ...rare].toSorted());
  });
});

const isOf = (type: AgentEvent["type"]) => (event: AgentEvent) => event.type === type;
const without = (events: readonly AgentEvent[], type: AgentEvent["type"]) => events.filter((event) => event.type !== type);

const SNAPSHOT: AgentEvent = { type: "state-snapshot", snapshot: { schemaVersion: 1, revision: 0, extensions: {} } };

/** The checker wants the state before each end, which no log keeps. */
const withSnapshots = (events: readonly AgentEvent[]): readonly AgentEvent[] =>
  without(events, "state-snapshot").flatMap((event): readonly AgentEvent[] =>
    event.type === "step-end" || event.type === "run-end" ? [SNAPSHOT, event] : [event],
  );

/** What is told of runs below while the run waits belongs to the activation that comes. */
function activationsOf(events: readonly AgentEvent[]): readonly (readonly AgentEvent[])[] {
  const all: AgentEvent[][] = [[]];
  for (const event of events) {
    const { cursor: _cursor, ...plain }: AttachedEvent = event;
    all.at(-1)?.push(plain);
    if (event.type === "run-end") all.push([]);
  }
  return all.slice(0, -1);
}

describe("what is attached to afterwards, or followed all the time, is what was heard live", () => {
  it.each(Object.entries(STORIES))("%s", async (_kind, story) => {
    const { activations, attached, followed } = await tell(story);
    const live = activations.flat();
    for (const seen of [attached, followed]) {
      expect(without(factsOf(seen), "ticket-open")).toEqual(without(factsOf(live), "ticket-open"));
      // They are told when the run has left, whatever else it says meanwhile.
      expect(factsOf(seen).filter(isOf("ticket-open"))).toEqual(live.filter(isOf("ticket-open")));
      expect(wordsOf(seen)).toEqual(wordsOf(live));
      for (const activation of activationsOf(seen)) checkEvents(withSnapshots(activation));
      expect(seen.at(-1)).toMatchObject({ type: "run-end", cursor: expect.any(String) });
    }
    const texts = (events: readonly AgentEvent[]) => events.filter(isOf("text-delta"));
    expect(texts(attached).length).toBe(wordsOf(live).filter((step) => JSON.stringify(step).includes("text-delta")).length);
  });
});
