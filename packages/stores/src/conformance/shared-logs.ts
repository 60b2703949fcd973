import {
  EVENT_SCHEMA_VERSION,
  type EventAppend,
  type EventCursor,
  type EventScope,
  type EventTarget,
  type Store,
} from "@awaken/contract/store";
import { describe, expect } from "vitest";
import { R1, R2, runs, T1, T2, write } from "./records.ts";
import { failure, type StoreTest } from "./world.ts";

/** Runs whose events stand in the logs of several threads. */
export function sharedLogConformance(it: StoreTest): void {
  describe("logs that share events", () => {
    deletion(it);
    times(it);
  });
}

const said = (kind: string, target: EventTarget): EventAppend => ({
  draft: { schemaVersion: EVENT_SCHEMA_VERSION, kind, payload: {}, visibility: "public", origin: "loop", ...target },
});

const OF_T1: EventScope = { type: "thread", threadId: T1 };
const OF_T2: EventScope = { type: "thread", threadId: T2 };
const OF_R1: EventScope = { type: "run", runId: R1 };
const OF_R2: EventScope = { type: "run", runId: R2 };

async function kindsIn({ events }: Store, scope: EventScope, after?: EventCursor): Promise<readonly string[]> {
  const kinds: string[] = [];
  for (let from = after; ; ) {
    const { items, next } = await events.list(scope, { limit: 1, ...(from && { after: from }) });
    kinds.push(...items.map(({ kind }) => kind));
    if (next === undefined) return kinds;
    from = next;
  }
}

function deletion(it: StoreTest): void {
  it("lose those of a thread that is deleted, in every log, and keep those of other threads", async ({ store }) => {
    await store.commit(write(runs.done()));
    await store.commit(write(runs.done({ runId: R2, threadId: T2 })));
    const ofR2 = [said("1", { threadId: T1, runId: R2 }), said("2", { threadId: T2, runId: R2 }), said("3", { threadId: T1, runId: R2 })];
    const ofR1 = [said("a", { threadId: T1, runId: R1 }), said("b", { threadId: T2, runId: R1 }), said("c", { runId: R1 })];
    const written = await store.events.append([...ofR2, ...ofR1, said("d", { threadId: T2 })]);
    const [first, second] = written.map(({ cursors }) => cursors.run);
    await store.threads.delete(T1, "detach");
    expect(await kindsIn(store, OF_T1)).toEqual([]);
    expect(await kindsIn(store, OF_T2)).toEqual(["2", "b", "d"]);
    expect(await kindsIn(store, OF_R2)).toEqual(["2"]);
    expect(await kindsIn(store, OF_R1)).toEqual(["b"]);
    expect(await store.events.loadHead(OF_R2)).toBe(second);
    await failure(store.events.list(OF_R2, { after: first ?? expect.fail() }), "cursor_expired");
    await store.events.append([said("4", { threadId: T2, runId: R2 })]);
    expect(await kindsIn(store, OF_R2, second)).toEqual(["4"]);
    expect(await kindsIn(store, OF_T2)).toEqual(["2", "b", "d", "4"]);
  });

  it("are listed behind an event before those that went with a deleted thread", async ({ store }) => {
    await store.commit(write(runs.done()));
    const places = [T2, T1, T2, T1, T2] as const;
    const written = await store.events.append(places.map((threadId, index) => said(`${index}`, { threadId, runId: R2 })));
    await store.threads.delete(T1, "detach");
    for (const [index, kinds] of [
      [0, ["2", "4"]],
      [2, ["4"]],
      [4, []],
    ] as const) {
      expect(await kindsIn(store, OF_R2, written[index]?.cursors.run)).toEqual(kinds);
    }
    expect(await kindsIn(store, OF_R2)).toEqual(["0", "2", "4"]);
  });

  it("have all of theirs when the deletion is taken back", async ({ store }) => {
    await store.commit(write(runs.done()));
    await store.events.append([said("1", { threadId: T1, runId: R2 }), said("2", { threadId: T2, runId: R2 })]);
    const undone = store.transaction(async ({ threads }) => {
      await threads.delete(T1, "detach");
      throw new Error("never mind");
    });
    await expect(undone).rejects.toThrow("never mind");
    await store.events.append([said("3", { threadId: T1, runId: R2 })]);
    expect(await kindsIn(store, OF_R2)).toEqual(["1", "2", "3"]);
    expect(await kindsIn(store, OF_T1)).toEqual(["1", "3"]);
  });
}

function times(it: StoreTest): void {
  it("are in the order of their times also when a clock goes back, so that retention takes an event out of both of its logs", async (world) => {
    const { store, clock } = world;
    await store.events.append([said("1", { threadId: T1, runId: R1 })]);
    clock.advance(-10_000);
    const [second] = await store.events.append([said("2", { threadId: T1, runId: R2 })]);
    expect(second?.createdAt).toBe(clock.now() + 10_000);
    await store.events.append([said("3", { threadId: T2 })]);
    clock.advance(10_000);
    expect(await store.sweep({ eventsMs: 5_000 })).toMatchObject({ events: 1 });
    expect(await kindsIn(store, OF_T1)).toEqual(["1", "2"]);
    expect(await kindsIn(store, OF_R2)).toEqual(["2"]);
    expect(await kindsIn(store, OF_T2)).toEqual([]);
  });
}
