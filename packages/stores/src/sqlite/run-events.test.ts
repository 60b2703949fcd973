import { DatabaseSync } from "node:sqlite";
import { runId, threadId } from "@awaken/contract";
import type { EventAppend, EventCursor, EventScope, QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import { memoryStore } from "../memory/index.ts";
import { sqliteStore } from "./store.ts";
import { fileOf, openTestStore } from "./test-store.ts";

const [A, B] = [threadId("a"), threadId("b")];
const [ONE, TWO] = [runId("one"), runId("two")];

/** `a1` is an event of thread a and run one, `a-` one of the thread alone, `-2` one of run two alone. */
function appendOf(place: string, kind: string): EventAppend {
  const thread = { a: A, b: B }[place[0] ?? ""];
  const run = { 1: ONE, 2: TWO }[place[1] ?? ""];
  const own = { ...(thread && { threadId: thread }), ...(run && { runId: run }) };
  return { draft: { schemaVersion: 1, ...own, kind, payload: {}, visibility: "public", origin: "runtime" } };
}

const LOGS: readonly EventScope[] = [
  { type: "thread", threadId: A },
  { type: "thread", threadId: B },
  { type: "run", runId: ONE },
  { type: "run", runId: TWO },
];

/** All of a log, what is behind each of its events, by pages, and which is its last: by their kinds, since cursors differ from store to store. */
async function readLog({ events }: QueueStore, log: EventScope): Promise<unknown> {
  const { items } = await events.list(log, { limit: 200 });
  const head = await events.loadHead(log);
  const behind = items.flatMap(({ cursors }) => {
    const after = cursors[log.type];
    return after === undefined ? [] : [events.list(log, { after, limit: 2 })];
  });
  return {
    all: items.map(({ kind, createdAt }) => `${kind} ${createdAt}`),
    behind: (await Promise.all(behind)).map((page) =>
      [...page.items.map(({ kind }) => kind), page.next === undefined ? "." : ".."].join(" "),
    ),
    head: items.find(({ cursors }) => cursors[log.type] === head)?.kind ?? head,
  };
}

const logsOf = async (store: QueueStore) => Promise.all(LOGS.map((log) => readLog(store, log)));

interface Pair {
  readonly file: QueueStore;
  readonly model: QueueStore;
  pass(ms: number): void;
}

/** A store in a file, and one in memory that says what the other should say. */
function openPair(): Pair {
  let now = 1_000;
  const clock = () => now;
  const pass = (ms: number) => {
    now += ms;
  };
  return { file: openTestStore({ clock }), model: memoryStore({ clock }), pass };
}

async function play({ file, model, pass }: Pair, script: string): Promise<void> {
  for (const [index, word] of script.split(" ").entries()) {
    pass(1);
    for (const store of [file, model]) {
      if (word.startsWith("sweep")) await store.sweep({ eventsMs: Number(word.slice(5)) });
      else await store.events.append(word.split("+").map((place, at) => appendOf(place, `${index}.${at}`)));
    }
    expect(await logsOf(file), word).toEqual(await logsOf(model));
  }
}

const SCRIPTS = [
  "a1 a1+a1 a1 a1+a1+a1",
  "a1 a2 a1 a2+a1 a2 a2 a1 a1",
  "a1 a- a1 -1 a1 b1 b1 a1 a1 -1 -1 b1",
  "a1+a1+b1+b1+a1 b1 a2 b2+b2 a2+a1 -2 b2",
  "a1 a1 a1 a1 sweep2 a1 a1 a2 a1 sweep1 a1",
  "a1+a1 a2 a2 a1 b1 -1 a1 sweep4 a1 a2 b1",
  "a1 a1 sweep-1 a1 a1 a2 sweep-1 a2 a1",
];

describe("the log of a run, whose events are found through the logs of threads", () => {
  test.each(SCRIPTS)("is what was appended: %s", async (script) => {
    const pair = openPair();
    await using _file = pair.file;
    await using _model = pair.model;
    await play(pair, script);
  });

  test("is the same in a file of the version before, with the same index", async () => {
    const pair = openPair();
    await using file = pair.file;
    await using _ = pair.model;
    await play(pair, SCRIPTS.slice(0, 6).join(" "));
    const before = await logsOf(file);
    const db = new DatabaseSync(fileOf(file));
    const begins = () => db.prepare("SELECT rowid, begins FROM event ORDER BY rowid").all();
    const stretches = begins();
    db.exec(`DROP INDEX event_run; DROP INDEX event_stretch; ALTER TABLE event DROP COLUMN begins;
      CREATE UNIQUE INDEX event_run ON event (scope_id, run_id, run_seq) WHERE run_id IS NOT NULL; DROP INDEX dispatch_queued;
      PRAGMA user_version = 10`);
    const path = `${fileOf(file)}.old`;
    db.exec(`VACUUM INTO '${path}'`);
    await using old = sqliteStore(path);
    expect(await logsOf(old)).toEqual(before);
    const migrated = new DatabaseSync(path);
    expect(migrated.prepare("SELECT rowid, begins FROM event ORDER BY rowid").all()).toEqual(stretches);
    migrated.close();
    db.close();
  });

  test("has what is left of it when one of its threads is deleted, and goes on", async () => {
    await using store = openTestStore();
    for (const id of [A, B]) await store.threads.create({ id });
    const add = async (...places: string[]) => {
      for (const place of places) await store.events.append([appendOf(place, place)]);
    };
    const kinds = async (after?: EventCursor) =>
      (await store.events.list({ type: "run", runId: ONE }, { ...(after && { after }) })).items.map(({ kind, cursors }) => ({
        kind,
        after: cursors.run,
      }));
    await add("a1", "a1", "b1", "b1", "a1", "-2", "a2", "a1");
    await store.threads.delete(B, "detach");
    await add("a1", "b1", "a1");
    const left = await kinds();
    expect(left.map(({ kind }) => kind)).toEqual(["a1", "a1", "a1", "a1", "a1", "b1", "a1"]);
    for (const [index, { after }] of left.entries()) expect(await kinds(after)).toEqual(left.slice(index + 1));
    expect(await store.events.loadHead({ type: "run", runId: ONE })).toBe(left.at(-1)?.after);
  });

  test("is read by indexes alone, and a run that goes on in its thread adds nothing to them", async () => {
    await using store = openTestStore();
    for (let index = 0; index < 20; index++) await store.events.append([appendOf("a1", "x"), appendOf("a1", "y")]);
    const db = new DatabaseSync(fileOf(store));
    expect(db.prepare("SELECT count(*) AS n FROM event WHERE begins = 1").get()).toEqual({ n: 1 });
    const asked: string[] = [];
    const prepare = DatabaseSync.prototype.prepare;
    DatabaseSync.prototype.prepare = function (sql: string) {
      if (sql.includes("FROM event")) asked.push(sql);
      return prepare.call(this, sql);
    };
    try {
      await readLog(store, { type: "run", runId: ONE });
    } finally {
      DatabaseSync.prototype.prepare = prepare;
    }
    const plans = asked.flatMap((sql) =>
      db
        .prepare(`EXPLAIN QUERY PLAN ${sql}`)
        .all()
        .map((row) => String(row["detail"])),
    );
    db.close();
    expect(asked.length).toBeGreaterThan(2);
    expect(plans.filter((step) => step.startsWith("SCAN") || step.includes("TEMP B-TREE"))).toEqual([]);
  });
});
