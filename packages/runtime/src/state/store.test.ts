import { describe, expect, it } from "vitest";
import * as z from "zod";
import { command } from "../phase/command.ts";
import { counter, recordedLog, refusedBy, slot, storeOf, thrownBy } from "../plugin/engine-bench.test-support.ts";
import { type AnyStateKey, defineRuntimeState, defineState } from "./key.ts";
import type { CommitNotice } from "./store.ts";

const count = counter("count");
const other = counter("other");
const stranger = counter("stranger");

/** A store with something in it, so that "nothing changed" means something. */
function filled(...keys: readonly AnyStateKey[]) {
  const store = storeOf([count, other, ...keys]);
  store.commit(command().update(count, 1).update(other, 2));
  return store;
}

describe("defineState", () => {
  it("fills in the defaults", () => {
    expect(count).toMatchObject({ scope: "run", merge: "exclusive", persistent: true, version: 1 });
    expect(Object.isFrozen(count)).toBe(true);
  });

  it("refuses names that cannot be: blank, the runtime's own, and the one that no object can hold", async () => {
    expect((await thrownBy(() => counter(" "))).code).toBe("unknown_key");
    expect((await thrownBy(() => counter("__proto__"))).code).toBe("unknown_key");
    const reserved = await thrownBy(() => counter("__runtime.x"));
    expect(reserved).toMatchObject({ code: "key_already_registered", details: { key: "__runtime.x" } });
  });

  it("prefixes the runtime's own keys, except those with a mark of their own", () => {
    const init = { schema: z.number(), initial: () => 0, apply: (value: number) => value };
    expect(defineRuntimeState("x", init).name).toBe("__runtime.x");
    expect(defineRuntimeState("__context_x", init).name).toBe("__context_x");
  });
});

describe("commit", () => {
  it("core-execution 1: a new store is at revision 0 and every key reads absent", () => {
    const store = storeOf([count, other]);
    expect(store.revision).toBe(0);
    expect(store.snapshot().revision).toBe(0);
    expect([store.snapshot().get(count), store.snapshot().get(other), store.snapshot().get(stranger)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(store.export("full")).toEqual({ schemaVersion: 1, revision: 0, extensions: {} });
  });

  it("core-execution 2: three updates raise the revision by one and listeners see opCount 3", () => {
    const store = storeOf([count, other]);
    const notices: CommitNotice[] = [];
    store.onCommit((notice) => notices.push(notice));
    expect(store.commit(command().update(count, 1).update(count, 2).update(other, 5))).toBe(1);
    expect(store.revision).toBe(1);
    expect(notices).toHaveLength(1);
    expect(notices[0]).toMatchObject({ previousRevision: 0, newRevision: 1, opCount: 3 });
    expect(notices[0]?.snapshot).toBe(store.snapshot());
    expect([store.snapshot().get(count), store.snapshot().get(other)]).toEqual([3, 5]);
  });

  it("core-execution 3: an empty batch changes no revision and calls no listener", () => {
    const store = filled();
    const before = store.snapshot();
    let called = 0;
    store.onCommit(() => {
      called += 1;
    });
    expect(store.commit(command())).toBe(1);
    expect(store.commit({ updates: [], baseRevision: 99 })).toBe(1);
    expect(store.snapshot()).toBe(before);
    expect(called).toBe(0);
  });

  it("core-execution 4: a stale base revision is refused with what was expected and what is", async () => {
    const store = filled();
    const error = await refusedBy(store, () => store.commit(command().update(count, 1).from(0)));
    expect(error).toMatchObject({ code: "revision_conflict", details: { expected: 0, actual: 1 } });
    const ahead = await refusedBy(store, () => store.commit(command().update(count, 1).from(2)));
    expect(ahead.details).toEqual({ expected: 2, actual: 1 });
    expect(store.commit(command().update(count, 1).from(1))).toBe(2);
  });

  it("core-execution 5: an unregistered key refuses the batch and nothing else of it is applied", async () => {
    const store = filled();
    const batch = command().update(count, 10).update(stranger, 1).update(other, 10);
    const error = await refusedBy(store, () => store.commit(batch));
    expect(error).toMatchObject({ code: "unknown_key", details: { key: "stranger" } });
  });

  it("core-execution 6: a snapshot keeps showing its value and revision", () => {
    const list = slot("list");
    const store = storeOf([count, list]);
    store.commit(
      command()
        .update(count, 1)
        .update(list, { items: [1] }),
    );
    const snapshot = store.snapshot();
    for (let n = 0; n < 10; n++)
      store.commit(
        command()
          .update(count, 1)
          .update(list, { items: [n] }),
      );
    store.register([other]);
    store.commit(command().update(other, 1));
    expect([snapshot.revision, snapshot.get(count), snapshot.get(list), snapshot.get(other)]).toEqual([1, 1, { items: [1] }, undefined]);
    expect(store.snapshot().get(count)).toBe(11);
  });

  it("core-execution 7: a reducer that throws mid-batch leaves the store as it was", async () => {
    const broken = defineState("broken", {
      schema: z.number(),
      initial: () => 0,
      apply(): number {
        throw new RangeError("no");
      },
    });
    const store = filled(broken);
    let called = 0;
    store.onCommit(() => {
      called += 1;
    });
    const error = await refusedBy(store, () => store.commit(command().update(count, 5).update(broken, 0).update(other, 5)));
    expect(error).toMatchObject({ code: "reducer_failed", details: { key: "broken" }, cause: new RangeError("no") });
    expect(error.message).toContain("no");
    expect(called).toBe(0);
  });

  it("starts the first update from the initial value, and the next from what is there, also from null", () => {
    const active = defineState("active", {
      schema: z.string().nullable(),
      initial: (): string | null => "first",
      apply: (value, update: { keep: true } | { set: string | null }) => ("keep" in update ? value : update.set),
    });
    const store = storeOf([active]);
    store.commit(command().update(active, { keep: true }));
    expect(store.snapshot().get(active)).toBe("first");
    store.commit(command().update(active, { set: null }));
    store.commit(command().update(active, { keep: true }));
    expect(store.snapshot().get(active)).toBeNull();
  });

  it("checks without changing anything", async () => {
    const store = filled();
    store.check(command());
    await refusedBy(store, () => store.check(command().update(stranger, 1)));
    await refusedBy(store, () => store.check(command().update(count, 1).from(0)));
    const before = store.snapshot();
    store.check(command().update(count, 1));
    expect(store.snapshot()).toBe(before);
    expect(store.isChangedSince("count", 1)).toBe(false);
  });

  it("knows per key whether it changed after a revision", () => {
    const store = filled();
    store.commit(command().update(count, 1));
    expect([store.isChangedSince("count", 1), store.isChangedSince("count", 2), store.isChangedSince("other", 1)]).toEqual([
      true,
      false,
      false,
    ]);
    expect(store.isChangedSince("stranger", 0)).toBe(false);
  });
});

describe("what a key's code does wrong", () => {
  const badly = (apply: (value: { n: number }, update: number) => { n: number }, initial = () => ({ n: 0 })) =>
    defineState("badly", { schema: z.object({ n: z.number() }), initial, apply });

  it("refuses a reducer that changes the value it was given", async () => {
    const mutating = badly((value, add) => Object.assign(value, { n: value.n + add }));
    const store = filled(mutating);
    const first = await refusedBy(store, () => store.commit(command().update(count, 1).update(mutating, 1)));
    expect(first).toMatchObject({ code: "reducer_failed", details: { key: "badly" } });
    expect(first.cause).toBeInstanceOf(TypeError);
  });

  it("does not let a reducer change an initial value that all stores share", async () => {
    const shared = { n: 0 };
    const mutating = badly(
      (value, add) => Object.assign(value, { n: add }),
      () => shared,
    );
    const store = filled(mutating);
    await refusedBy(store, () => store.commit(command().update(mutating, 7)));
    expect(shared).toEqual({ n: 0 });
  });

  it("refuses a reducer that mutates deep inside a committed value", async () => {
    const tree = defineState("tree", {
      schema: z.object({ list: z.array(z.number()) }),
      initial: () => ({ list: [1] }),
      apply(value, add: number) {
        if (add === 0) return { list: [1, 2] };
        value.list.push(add);
        return value;
      },
    });
    const store = filled(tree);
    store.commit(command().update(tree, 0));
    expect((await refusedBy(store, () => store.commit(command().update(tree, 3)))).code).toBe("reducer_failed");
    expect(store.snapshot().get(tree)).toEqual({ list: [1, 2] });
  });

  it("refuses a reducer, and an initial, that returns undefined", async () => {
    const nothing = defineState("nothing", {
      schema: z.any(),
      initial: () => 0,
      apply: () => undefined,
    });
    const empty = defineState("empty", { schema: z.any(), initial: () => undefined, apply: () => 1 });
    const store = filled(nothing, empty);
    const applied = await refusedBy(store, () => store.commit(command().update(count, 1).update(nothing, 0)));
    expect(applied).toMatchObject({ code: "reducer_failed", details: { key: "nothing" } });
    expect(applied.message).toContain("apply returned undefined");
    const begun = await refusedBy(store, () => store.commit(command().update(empty, 0)));
    expect(begun.message).toContain("initial returned undefined");
  });

  it("refuses a throwing initial and a throwing refuse", async () => {
    const boom = (): never => {
      throw new Error("boom");
    };
    const badStart = defineState("start", { schema: z.number(), initial: (): number => boom(), apply: (value) => value });
    const badRule = defineState("rule", { schema: z.number(), initial: () => 0, apply: (value) => value, refuse: boom });
    const store = filled(badStart, badRule);
    for (const key of [badStart, badRule]) {
      const error = await refusedBy(store, () => store.commit(command().update(count, 1).update(key, 0)));
      expect(error).toMatchObject({ code: "reducer_failed", details: { key: key.name } });
    }
  });

  it("logs a refused update, changes no value, and still applies the rest of the batch", () => {
    const log = recordedLog();
    const capped = defineState("capped", {
      schema: z.number(),
      initial: () => 0,
      apply: (value, add: number) => value + add,
      refuse: (value, add: number) => (value + add > 10 ? "over 10" : undefined),
    });
    const store = storeOf([capped, count], log);
    store.commit(command().update(capped, 11).update(count, 1));
    expect([store.snapshot().get(capped), store.snapshot().get(count), store.revision]).toEqual([undefined, 1, 1]);
    store.commit(command().update(capped, 6));
    store.commit(command().update(capped, 6));
    expect(store.snapshot().get(capped)).toBe(6);
    expect(log.errors).toEqual(["state key 'capped' ignored an update: over 10", "state key 'capped' ignored an update: over 10"]);
  });
});

describe("listeners", () => {
  it("are called in the order of registration, until they are taken away", () => {
    const store = storeOf([count]);
    const seen: string[] = [];
    store.onCommit(() => seen.push("a"));
    const off = store.onCommit(() => seen.push("b"));
    store.onCommit(() => seen.push("c"));
    store.commit(command().update(count, 1));
    off();
    store.commit(command().update(count, 1));
    expect(seen).toEqual(["a", "b", "c", "a", "c"]);
  });

  it("may throw: it is logged, the commit stands, the others are called", () => {
    const log = recordedLog();
    const store = storeOf([count], log);
    let called = 0;
    store.onCommit(() => {
      throw new Error("broken listener");
    });
    store.onCommit(() => {
      called += 1;
    });
    expect(store.commit(command().update(count, 1))).toBe(1);
    expect([store.snapshot().get(count), called]).toEqual([1, 1]);
    expect(log.errors).toEqual(["a state commit listener threw: broken listener"]);
  });

  it("may commit: everybody still hears of the revisions in their order", () => {
    const store = storeOf([count]);
    const seen: string[] = [];
    store.onCommit(({ newRevision, snapshot }) => {
      seen.push(`first ${newRevision}: ${snapshot.get(count)}`);
      if (newRevision < 3) store.commit(command().update(count, 10));
    });
    store.onCommit(({ newRevision, snapshot }) => seen.push(`second ${newRevision}: ${snapshot.get(count)}`));
    expect(store.commit(command().update(count, 1))).toBe(1);
    expect(seen).toEqual(["first 1: 1", "second 1: 1", "first 2: 11", "second 2: 11", "first 3: 21", "second 3: 21"]);
  });

  it("that come during a commit hear of the next one", () => {
    const store = storeOf([count]);
    const seen: number[] = [];
    const off = store.onCommit(() => {
      off();
      store.onCommit(({ newRevision }) => seen.push(newRevision));
    });
    store.commit(command().update(count, 1));
    store.commit(command().update(count, 1));
    expect(seen).toEqual([2]);
  });
});
