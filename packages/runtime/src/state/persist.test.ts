import type { JsonValue, PersistedState, Schema } from "@awaken/contract";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { command } from "../phase/command.ts";
import { counter, refusedBy, slot, storeOf } from "../plugin/engine-bench.test-support.ts";
import { defineState } from "./key.ts";

const ran = counter("ran");
const threaded = counter("threaded", "exclusive", { scope: "thread" });
const hidden = counter("hidden", "exclusive", { persistent: false });
const hiddenThread = counter("hiddenThread", "exclusive", { persistent: false, scope: "thread" });
const untouched = counter("untouched");
const all = [ran, threaded, hidden, hiddenThread, untouched];

const stored = (extensions: Record<string, JsonValue>, more: Partial<PersistedState> = {}): PersistedState => ({
  schemaVersion: 1,
  revision: 7,
  extensions,
  ...more,
});

function filled() {
  const store = storeOf(all);
  store.commit(command().update(ran, 1).update(threaded, 2).update(hidden, 3).update(hiddenThread, 4));
  store.commit(command().update(ran, 1));
  return store;
}

describe("export", () => {
  it("core-execution 11: run, thread and full export hold exactly their shares", () => {
    const store = filled();
    expect(store.export("run")).toEqual({ schemaVersion: 1, revision: 2, extensions: { ran: 2 } });
    expect(store.export("thread")).toEqual({ schemaVersion: 1, revision: 2, extensions: { threaded: 2 } });
    expect(store.export("full")).toEqual({ schemaVersion: 1, revision: 2, extensions: { ran: 2, threaded: 2 } });
  });

  it("survives JSON and comes back the same", () => {
    const tree = slot("tree");
    const store = storeOf([tree, ran]);
    store.commit(
      command()
        .update(tree, { a: [1, { b: null }], c: "ü" })
        .update(ran, 1),
    );
    const again = storeOf([tree, ran]);
    again.restore(JSON.parse(JSON.stringify(store.export("full"))), "error");
    expect(again.export("full")).toEqual(store.export("full"));
    expect(again.snapshot().get(tree)).toEqual({ a: [1, { b: null }], c: "ü" });
  });

  it("keeps keys with the names of inherited members apart from them", () => {
    const odd = ["constructor", "toString", "hasOwnProperty"].map((name) => counter(name));
    const newer = counter("newer", "exclusive", { migrations: [(value) => value] });
    const store = storeOf([...odd, newer]);
    const batch = command().update(newer, 1);
    for (const key of odd) batch.update(key, 5);
    store.commit(batch);
    const again = storeOf([...odd, newer]);
    again.restore(JSON.parse(JSON.stringify(store.export("full"))), "error");
    expect(again.export("full")).toEqual(store.export("full"));
  });
});

describe("restore", () => {
  it("core-execution 13: an unknown key is ignored with skip and refused with error", async () => {
    const store = filled();
    const state = stored({ ran: 9, stranger: 1 });
    const error = await refusedBy(store, () => store.restore(state, "error"));
    expect(error).toMatchObject({ code: "unknown_key", details: { key: "stranger" } });
    expect((await refusedBy(store, () => store.restoreThread(state, "error"))).code).toBe("unknown_key");
    expect((await refusedBy(store, () => store.seed(state))).code).toBe("unknown_key");
    store.restore(state, "skip");
    expect([ran, threaded].map((key) => store.snapshot().get(key))).toEqual([9, undefined]);
    // It is not read, and not lost either: see kept.test.ts.
    expect(store.export("full")).toEqual(stored({ ran: 9, stranger: 1 }));
  });

  it("replaces all values and the revision, and calls no listener", () => {
    const store = filled();
    let called = 0;
    store.onCommit(() => {
      called += 1;
    });
    store.restore(stored({ threaded: 5 }), "error");
    expect(store.revision).toBe(7);
    expect([ran, threaded, hidden].map((key) => store.snapshot().get(key))).toEqual([undefined, 5, undefined]);
    expect(called).toBe(0);
    expect(store.commit(command().update(threaded, 1).from(7))).toBe(8);
    expect(store.snapshot().get(threaded)).toBe(6);
  });

  it("leaves snapshots that were taken before alone", () => {
    const store = filled();
    const before = store.snapshot();
    store.restore(stored({ ran: 100 }), "error");
    expect([before.revision, before.get(ran), before.get(threaded)]).toEqual([2, 2, 2]);
  });

  it("refuses an undecodable value and changes nothing", async () => {
    const store = filled();
    const error = await refusedBy(store, () => store.restore(stored({ ran: 1, threaded: "two" }), "skip"));
    expect(error).toMatchObject({ code: "key_decode", details: { key: "threaded" } });
    expect(error.details["message"]).toEqual(expect.stringContaining("expected number"));
  });

  it("refuses a state of another schema version", async () => {
    const store = filled();
    const at = (schemaVersion: unknown) => JSON.parse(JSON.stringify({ ...stored({}), schemaVersion }));
    const newer = await refusedBy(store, () => store.restore(at(2), "skip"));
    expect(newer).toMatchObject({ code: "storage_too_new", details: { found: 2, known: 1 } });
    for (const wrong of [undefined, 0, "1"]) {
      expect((await refusedBy(store, () => store.restore(at(wrong), "skip"))).code).toBe("storage_corrupt");
    }
  });

  it("seals what it restores: the payload cannot change it later", () => {
    const tree = slot("tree");
    const store = storeOf([tree]);
    const inner = { list: [1] };
    store.restore(stored({ tree: inner }), "error");
    try {
      inner.list.push(2);
    } catch {
      // The payload may have become the value: then it is frozen.
    }
    expect(store.snapshot().get(tree)).toEqual({ list: [1] });
  });
});

describe("restoreThread", () => {
  it("takes only the thread's keys, keeps the revision, and does not look at the rest", () => {
    const store = filled();
    store.restoreThread(stored({ ran: "not even a number", threaded: 50, stranger: 1 }));
    expect(store.export("full")).toEqual({ schemaVersion: 1, revision: 2, extensions: { ran: 2, threaded: 50, stranger: 1 } });
  });

  it("keeps thread keys that the payload does not have", () => {
    const second = counter("second", "exclusive", { scope: "thread" });
    const store = storeOf([threaded, second]);
    store.commit(command().update(threaded, 1).update(second, 2));
    store.restoreThread(stored({ threaded: 9 }));
    expect([store.snapshot().get(threaded), store.snapshot().get(second)]).toEqual([9, 2]);
  });

  it("is all or nothing", async () => {
    const second = counter("second", "exclusive", { scope: "thread" });
    const store = storeOf([threaded, second]);
    store.commit(command().update(threaded, 1));
    const error = await refusedBy(store, () => store.restoreThread(stored({ threaded: 9, second: "x" })));
    expect(error).toMatchObject({ code: "key_decode", details: { key: "second" } });
  });
});

describe("seed", () => {
  it("core-execution 12: one undecodable value and no key changes, nor the revision", async () => {
    const store = filled();
    const error = await refusedBy(store, () => store.seed(stored({ ran: 9, threaded: { not: "a number" }, untouched: 1 })));
    expect(error).toMatchObject({ code: "key_decode", details: { key: "threaded" } });
  });

  it("puts its keys over what is there, ignores its revision, and calls no listener", () => {
    const store = filled();
    let called = 0;
    store.onCommit(() => {
      called += 1;
    });
    store.seed(stored({ ran: 9, untouched: 1 }));
    expect(store.export("full")).toEqual({ schemaVersion: 1, revision: 2, extensions: { ran: 9, threaded: 2, untouched: 1 } });
    expect(store.snapshot().get(hidden)).toBe(3);
    expect(called).toBe(0);
  });

  it("ignores unknown keys when it is told to", () => {
    const store = filled();
    store.seed(stored({ stranger: 1, ran: 3 }), "skip");
    expect(store.snapshot().get(ran)).toBe(3);
  });
});

describe("migrations of a key", () => {
  const money = defineState("money", {
    schema: z.object({ cents: z.number(), currency: z.string() }),
    initial: () => ({ cents: 0, currency: "EUR" }),
    apply: (value, add: number) => ({ ...value, cents: value.cents + add }),
    migrations: [
      (v1) => ({ euros: v1 }),
      (v2) => {
        if (typeof v2 !== "object" || v2 === null || !("euros" in v2) || typeof v2["euros"] !== "number") throw new Error("no euros");
        return { cents: v2["euros"] * 100, currency: "EUR" };
      },
    ],
  });

  it("counts versions and writes those above 1 beside the values", () => {
    expect(money.version).toBe(3);
    const store = storeOf([money, ran]);
    store.commit(command().update(money, 5).update(ran, 1));
    expect(store.export("full")).toMatchObject({ extensions: { money: { cents: 5, currency: "EUR" }, ran: 1 }, versions: { money: 3 } });
    expect(storeOf([ran]).export("full")).not.toHaveProperty("versions");
  });

  it("goes from version 1, which is the default, and from version 2 to 3", () => {
    const store = storeOf([money]);
    store.restore(stored({ money: 12 }), "error");
    expect(store.snapshot().get(money)).toEqual({ cents: 1_200, currency: "EUR" });
    store.restore(stored({ money: { euros: 3 } }, { versions: { money: 2 } }), "error");
    expect(store.snapshot().get(money)).toEqual({ cents: 300, currency: "EUR" });
    store.restore(stored({ money: { cents: 1, currency: "NOK" } }, { versions: { money: 3 } }), "error");
    expect(store.snapshot().get(money)).toEqual({ cents: 1, currency: "NOK" });
  });

  it("refuses a version that it does not know, an impossible one, a throwing migration, and a result that does not fit", async () => {
    const store = storeOf([money, ran]);
    store.commit(command().update(money, 1).update(ran, 1));
    const attempt = (value: JsonValue, version: number) =>
      refusedBy(store, () => store.restore(stored({ ran: 5, money: value }, { versions: { money: version } }), "error"));
    const newer = await attempt({ cents: 1, currency: "EUR" }, 4);
    expect(newer).toMatchObject({ code: "key_decode", details: { key: "money" } });
    expect(newer.message).toContain("version 4");
    for (const impossible of [0, -1, 1.5, Number.NaN]) expect((await attempt(1, impossible)).code).toBe("key_decode");
    const threw = await attempt({ dollars: 1 }, 2);
    expect(threw).toMatchObject({ code: "key_decode", cause: new Error("no euros") });
    expect(threw.details["message"]).toBe("a migration threw: no euros");
    expect((await attempt({ cents: "1", currency: "EUR" }, 3)).code).toBe("key_decode");
  });

  it("refuses a schema that is asynchronous, gives undefined, or gives what cannot be stored again", async () => {
    const make = <V extends string | Date>(name: string, schema: Schema<V>) =>
      defineState(name, { schema, initial: (): V => JSON.parse("0"), apply: (_, next: V) => next });
    const later = make(
      "later",
      z.string().refine(async () => true),
    );
    const nothing = make(
      "nothing",
      z.string().transform((): string => JSON.parse("{}").missing),
    );
    const date = make(
      "date",
      z.string().transform((text) => new Date(text)),
    );
    const store = storeOf([later, nothing, date, ran]);
    for (const key of [later, nothing, date]) {
      const error = await refusedBy(store, () => store.restore(stored({ ran: 1, [key.name]: "2026-01-01" }), "error"));
      expect(error).toMatchObject({ code: "key_decode", details: { key: key.name } });
    }
  });
});
