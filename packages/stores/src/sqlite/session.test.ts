import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { AwakenError } from "@awaken/contract";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Database, type Tx } from "./database.ts";
import { Writer } from "./session.ts";
import { tempFolder } from "./test-store.ts";

let folder: ReturnType<typeof tempFolder>;
let db: Database;
let writer: Writer;
let file: string;

function open(options: Parameters<typeof Database.open>[1] = {}): void {
  db = Database.open(file, options);
  db.exec("CREATE TABLE IF NOT EXISTS note (id TEXT PRIMARY KEY, body TEXT)");
  if (options.maxBytes !== undefined) db.limit(options.maxBytes);
  writer = new Writer(db, "turn");
}

beforeEach(() => {
  folder = tempFolder();
  file = join(folder.path, "a.db");
  open();
});
afterEach(async () => {
  await writer.close();
  folder.remove();
});

const put = (id: string) => (tx: Tx) => tx.run("INSERT INTO note (id) VALUES (?)", id);
const idsIn = (rows: readonly { readonly [column: string]: unknown }[]) => rows.map((row) => row["id"]);
const all = async () => idsIn(await writer.read((reader) => reader.all("SELECT id FROM note ORDER BY id")));
const refused = new AwakenError("version_conflict", "no");

/** What another connection sees, and how many commits it has noticed. */
function watch() {
  const other = new DatabaseSync(file);
  const version = other.prepare("PRAGMA data_version");
  const ids = other.prepare("SELECT id FROM note ORDER BY id");
  return { version: () => version.get()?.["data_version"], ids: () => idsIn(ids.all()), close: () => other.close() };
}

describe("group commit", () => {
  test("writes of one turn share a transaction, and none is acknowledged before it is durable", async () => {
    const other = watch();
    const acknowledged: string[] = [];
    const writes = ["a", "b", "c"].map(async (id) => {
      await writer.write(put(id));
      expect(other.ids()).toEqual(["a", "b", "c"]);
      acknowledged.push(id);
    });
    expect(other.ids()).toEqual([]);
    await Promise.resolve();
    expect(acknowledged).toEqual([]);
    await Promise.all(writes);
    expect(acknowledged).toEqual(["a", "b", "c"]);
    other.close();
  });

  test("one that fills the database fails alone: the others of its transaction are done again", async () => {
    await writer.close();
    open({ maxBytes: 64 * 1024 });
    const fill = (tx: Tx) => tx.run("INSERT INTO note (id, body) VALUES ('b', ?)", "x".repeat(200_000));
    const ends = await Promise.allSettled([put("a"), fill, put("c")].map((work) => writer.write(work)));
    expect(ends.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(await all()).toEqual(["a", "c"]);
  });

  test("one that fails takes back its own part, and only that", async () => {
    const outcomes = await Promise.allSettled([
      writer.write(put("a")),
      writer.write((tx) => {
        put("half")(tx);
        throw refused;
      }),
      writer.write(put("b")),
      writer.write((tx) => {
        put("other half")(tx);
        put("a")(tx);
      }),
      writer.write(put("c")),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "rejected", "fulfilled"]);
    expect(outcomes[1]).toMatchObject({ reason: refused });
    expect(await all()).toEqual(["a", "b", "c"]);
  });

  test("one that is refused before it has written anything is no trouble for the others", async () => {
    const order: string[] = [];
    const work = (id: string) => (tx: Tx) => {
      order.push(id);
      tx.afterCommit(() => order.push(`${id} told`));
      if (id === "no") throw refused;
      put(id)(tx);
    };
    const outcomes = await Promise.allSettled(["a", "no", "b"].map((id) => writer.write(work(id))));
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(order).toEqual(["a", "no", "b", "a told", "b told"]);
    expect(await all()).toEqual(["a", "b"]);
  });

  test("all of them are refused, and nothing is left behind", async () => {
    const refuse = () => {
      throw refused;
    };
    const outcomes = await Promise.allSettled([writer.write(refuse), writer.write(refuse)]);
    expect(outcomes).toEqual([
      { status: "rejected", reason: refused },
      { status: "rejected", reason: refused },
    ]);
    expect(db.isInTransaction).toBe(false);
  });

  test("writes that are made without waiting in between can share one before the turn ends", async () => {
    const hasty = new Writer(db, "moment");
    const other = watch();
    let isTurnOver = false;
    setImmediate(() => {
      isTurnOver = true;
    });
    const writes = ["a", "b"].map(async (id) => {
      await hasty.write(put(id));
      expect(other.ids()).toEqual(["a", "b"]);
    });
    await Promise.all(writes);
    expect(isTurnOver).toBe(false);
    other.close();
  });

  test("a write that fails alone leaves nothing", async () => {
    await expect(
      writer.write((tx) => {
        put("half")(tx);
        throw refused;
      }),
    ).rejects.toBe(refused);
    expect(await all()).toEqual([]);
  });

  test("what is to be told is told after the commit, and not when the work was taken back", async () => {
    const other = watch();
    const told: unknown[] = [];
    const tell = (id: string, thrown?: Error) =>
      writer.write((tx) => {
        put(id)(tx);
        tx.afterCommit(() => told.push([id, other.ids()]));
        if (thrown !== undefined) throw thrown;
      });
    await Promise.allSettled([tell("a"), tell("b", refused), tell("c")]);
    await Promise.allSettled([tell("d", refused)]);
    expect(told).toEqual([
      ["a", ["a", "c"]],
      ["c", ["a", "c"]],
    ]);
    other.close();
  });

  test("many more than one group are all done, in their order", async () => {
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 500 }, async (_, index) => {
        await writer.write((tx) => {
          order.push(index);
          put(`n${String(index).padStart(3, "0")}`)(tx);
        });
      }),
    );
    expect(order).toEqual(Array.from({ length: 500 }, (_, index) => index));
    expect(await all()).toHaveLength(500);
  });
});

describe("a transaction", () => {
  test("holds back writers and readers, who come after it in their order", async () => {
    const order: string[] = [];
    const { promise: middle, resolve: goOn } = Promise.withResolvers<void>();
    const inside = writer.transaction(async (session) => {
      await session.write(put("a"));
      await middle;
      await session.write(put("b"));
      expect(idsIn(await session.read((reader) => reader.all("SELECT id FROM note ORDER BY id")))).toEqual(["a", "b"]);
      order.push("inside");
    });
    const reading = all().then((ids) => order.push(`read ${ids.length}`));
    const writing = writer.write(put("c")).then(() => order.push("write"));
    await new Promise((resolve) => setImmediate(resolve));
    expect(order).toEqual([]);
    goOn();
    await Promise.all([inside, reading, writing]);
    expect(order[0]).toBe("inside");
    expect(order.slice(1).toSorted()).toEqual(["read 2", "write"]);
  });

  test("part of it may fail and be caught; what it throws takes all of it back", async () => {
    const inside = writer.transaction(async (session) => {
      await session.write(put("a"));
      await expect(
        session.write((tx) => {
          put("half")(tx);
          throw refused;
        }),
      ).rejects.toBe(refused);
      expect(idsIn(await session.read((reader) => reader.all("SELECT id FROM note")))).toEqual(["a"]);
    });
    await inside;
    await expect(
      writer.transaction(async (session) => {
        await session.write(put("b"));
        throw refused;
      }),
    ).rejects.toBe(refused);
    expect(await all()).toEqual(["a"]);
  });
});

describe("a full disk", () => {
  test("is storage_io; what was there stays, others of the same turn are not lost silently, and smaller work goes on", async () => {
    await writer.close();
    open({ maxBytes: 100 * 1024 });
    await writer.write(put("before"));
    const large = "x".repeat(200 * 1024);
    const outcomes = await Promise.allSettled([
      writer.write(put("a")),
      writer.write((tx) => tx.run("INSERT INTO note (id, body) VALUES ('large', ?)", large)),
      writer.write(put("b")),
    ]);
    expect(outcomes[1]).toMatchObject({ status: "rejected", reason: { code: "storage_io" } });
    const kept = ["before", ...["a", "-", "b"].filter((id, index) => id !== "-" && outcomes[index]?.status === "fulfilled")];
    expect(await all()).toEqual(kept.toSorted());
    await writer.write(put("after"));
    expect(await all()).toEqual([...kept, "after"].toSorted());
  });

  test("ends a transaction for good, even if its work goes on", async () => {
    await writer.close();
    open({ maxBytes: 100 * 1024 });
    const inside = writer.transaction(async (session) => {
      await session.write(put("a"));
      const large = session.write((tx) => tx.run("INSERT INTO note (id, body) VALUES ('large', ?)", "x".repeat(200 * 1024)));
      await expect(large).rejects.toMatchObject({ code: "storage_io" });
      await session.write(put("b")).catch(() => {});
    });
    const outcome = await inside.then(
      () => ["a", "b"],
      () => [],
    );
    expect(await all()).toEqual(outcome);
  });
});

describe("a locked file", () => {
  test("is storage_io after the wait, nothing is written, and then it goes on", async () => {
    await writer.close();
    open({ busyTimeoutMs: 20 });
    const other = new DatabaseSync(file);
    other.exec("BEGIN IMMEDIATE");
    const outcomes = await Promise.allSettled([writer.write(put("a")), writer.write(put("b"))]);
    expect(outcomes.map((outcome) => outcome.status === "rejected" && outcome.reason.code)).toEqual(["storage_io", "storage_io"]);
    await expect(writer.transaction(async (session) => session.write(put("c")))).rejects.toMatchObject({ code: "storage_io" });
    other.exec("ROLLBACK");
    other.close();
    expect(await all()).toEqual([]);
    await writer.write(put("d"));
    expect(await all()).toEqual(["d"]);
  });
});

describe("closing", () => {
  test("waits for what is in line; every call after it is storage_io", async () => {
    const write = writer.write(put("a"));
    const inside = writer.transaction(async (session) => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      return session.write(put("b"));
    });
    const closed = writer.close();
    await expect(writer.write(put("c"))).rejects.toMatchObject({ code: "storage_io" });
    await expect(all()).rejects.toMatchObject({ code: "storage_io" });
    await Promise.all([write, inside, closed]);
    expect(writer.close()).toBe(closed);
    const other = watch();
    expect(other.ids()).toEqual(["a", "b"]);
    other.close();
  });
});
