import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { DatabaseSync } from "node:sqlite";
import { runId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { afterEach, describe, expect, test, vi } from "vitest";
import { fileOf, openTestStore } from "./test-store.ts";

const SLOW_MS = 200;
const RUN = { type: "run", runId: runId("r1") } as const;

/** Timers as they were set, with their delays; those for which `lets` says no never end. */
function watchTimers(lets: (ms: number) => boolean): { readonly delays: number[] } {
  const delays: number[] = [];
  const { setTimeout } = globalThis;
  vi.spyOn(globalThis, "setTimeout").mockImplementation((act, ms = 0) => {
    delays.push(ms);
    return setTimeout(act, lets(ms) ? ms : 2 ** 30);
  });
  return { delays };
}

function countLooks(): () => number {
  let looks = 0;
  const { prepare } = DatabaseSync.prototype;
  vi.spyOn(DatabaseSync.prototype, "prepare").mockImplementation(function (this: DatabaseSync, text: string) {
    const statement = prepare.call(this, text);
    if (!text.includes("data_version")) return statement;
    const get = statement.get.bind(statement);
    vi.spyOn(statement, "get").mockImplementation((...given) => {
      looks += 1;
      return get(...given);
    });
    return statement;
  });
  return () => looks;
}

/** What another process does to the file, without a store. */
function writeElsewhere(store: QueueStore): void {
  const db = new DatabaseSync(fileOf(store));
  db.exec("INSERT INTO blob (scope_id, hash, body) VALUES ('elsewhere', hex(randomblob(16)), '')");
  db.close();
}

/** A follower that says how often it was woken. */
function follow(store: QueueStore): { readonly rings: () => number; readonly leave: () => void } {
  let rings = 0;
  const leave = store.live?.follow(RUN, () => {
    rings += 1;
  });
  return { rings: () => rings, leave: () => leave?.() };
}

const { watch } = fs;
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  fs.watch = watch;
  syncBuiltinESMExports();
});

describe("what other processes write", () => {
  test("is heard of when the log of the file grows, without the slow look", async () => {
    const { delays } = watchTimers((ms) => ms !== SLOW_MS);
    await using store = openTestStore();
    const { rings, leave } = follow(store);
    for (let nth = 1; nth <= 3; nth++) {
      // Until it looks slowly again, which it never does here.
      await expect.poll(() => delays.filter((ms) => ms === SLOW_MS).length).toBe(nth);
      expect(rings()).toBe(nth - 1);
      writeElsewhere(store);
      await expect.poll(rings).toBe(nth);
    }
    leave();
  });

  test("is heard of by the slow look where the system does not tell", async () => {
    fs.watch = () => {
      throw new Error("ENOSPC");
    };
    syncBuiltinESMExports();
    const { delays } = watchTimers(() => true);
    await using store = openTestStore();
    const { rings, leave } = follow(store);
    await expect.poll(() => delays.includes(SLOW_MS)).toBe(true);
    writeElsewhere(store);
    await expect.poll(rings).toBe(1);
    leave();
  });

  test("is heard of by everybody, again and again, also when a follower throws", async () => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    await using store = openTestStore();
    store.live?.follow({ type: "run", runId: runId("bad") }, () => {
      throw new Error("the follower broke");
    });
    const { rings, leave } = follow(store);
    for (let nth = 1; nth <= 3; nth++) {
      const before = rings();
      writeElsewhere(store);
      await expect.poll(rings).toBeGreaterThan(before);
    }
    expect(warned).toHaveBeenCalledWith("a follower of a log has failed: the follower broke");
    leave();
  });

  test("is looked for by nobody while nobody waits, and slowly while nothing happens", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const looks = countLooks();
    await using store = openTestStore();
    const looksDuring = (ms: number): number => {
      const before = looks();
      vi.advanceTimersByTime(ms);
      return looks() - before;
    };
    expect(looksDuring(60_000)).toBe(0);
    const { leave } = follow(store);
    expect(looksDuring(SLOW_MS)).toBeGreaterThan(1);
    expect(looksDuring(60_000)).toBe(60_000 / SLOW_MS);
    leave();
    expect(looksDuring(60_000)).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("wakes many followers no oftener than the slow look", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    await using store = openTestStore();
    const { rings } = follow(store);
    for (let nth = 0; nth < 1_000; nth++) store.live?.follow({ type: "run", runId: runId(`other${nth}`) }, () => {});
    for (let ms = 0; ms < 1_000; ms += 10) {
      writeElsewhere(store);
      vi.advanceTimersByTime(10);
    }
    expect(rings()).toBeLessThanOrEqual(1_000 / SLOW_MS + 1);
    expect(rings()).toBeGreaterThan(2);
  });
});
