import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { type AgentEvent, EVENT_TABLE } from "@awaken/contract";
import { checkEvents } from "@awaken/runtime/testing";
import { describe, expect, it } from "vitest";
import { type Golden, STORIES, tell } from "./stories.ts";

// `AWAKEN_RECORD_GOLDEN=1 npx vitest run e2e/golden` writes the recorded ones anew: look at the difference before it is committed.

const FOLDER = new URL("../../packages/contract/golden/", import.meta.url);
/** Of runs that do not exist yet. */
const BY_HAND = ["child-with-approval"];

const fileOf = (kind: string): URL => new URL(`${kind}.json`, FOLDER);
const read = (kind: string): Golden => JSON.parse(readFileSync(fileOf(kind), "utf8"));
const kinds = readdirSync(FOLDER).flatMap((name) => (name.endsWith(".json") ? [name.replace(".json", "")] : []));

describe("golden logs", () => {
  it.each(Object.entries(STORIES))("%s: the run of today is the recorded one", async (kind, story) => {
    const told: Golden = JSON.parse(JSON.stringify(await tell(story)));
    if (process.env["AWAKEN_RECORD_GOLDEN"] === "1") writeFileSync(fileOf(kind), `${JSON.stringify(told, null, 1)}\n`);
    expect(told).toEqual(read(kind));
  });

  it("there is one for each kind of run", () => {
    expect(kinds.toSorted()).toEqual([...Object.keys(STORIES), ...BY_HAND].toSorted());
  });

  it.each(kinds)("%s: keeps to the table of events and to their order", (kind) => {
    const { activations } = read(kind);
    expect(activations.length).toBeGreaterThan(0);
    for (const events of activations) checkEvents(events);
  });

  it("show every type of event that a run can have", () => {
    const shown = new Set<AgentEvent["type"]>(kinds.flatMap((kind) => read(kind).activations.flat()).map(({ type }) => type));
    // They need a dispatch that is tried again, a vendor that hides its thoughts, an outcome that was lost, a tool that streams or reports,
    // and a stream that starts over.
    const elsewhere = ["run-retry", "reasoning-delta", "reasoning-encrypted-value", "outcome-found"];
    const rare = ["tool-call-stream-delta", "activity-snapshot", "tool-call-cancel", "stream-reset"];
    expect(
      Object.keys(EVENT_TABLE)
        .filter((type) => !shown.has(type as AgentEvent["type"]))
        .toSorted(),
    ).toEqual([...elsewhere, ...rare].toSorted());
  });
});
