import { describe, expect, it } from "vitest";
import * as z from "zod";
import { command } from "../phase/command.ts";
import { counter, refusedBy, storeOf } from "../plugin/engine-bench.test-support.ts";
import { defineState } from "./key.ts";
import type { CommitNotice } from "./store.ts";

const a = counter("a");
const b = counter("b");
const kept = counter("kept", "exclusive", { retainOnUninstall: true });
const c = counter("c");

describe("register", () => {
  it("adds what is missing, keeps what is there, and changes no revision", () => {
    const store = storeOf([a]);
    store.commit(command().update(a, 1));
    const doubling = defineState("b", { schema: z.number(), initial: () => 0, apply: (value, add: number) => value + 2 * add });
    store.register([counter("a"), b, b, doubling]);
    expect(store.revision).toBe(1);
    expect(store.snapshot().get(a)).toBe(1);
    store.commit(command().update(b, 2));
    expect(store.export("full").extensions).toEqual({ a: 1, b: 2 });
  });
});

describe("install", () => {
  it("brings a plugin's keys", () => {
    const store = storeOf([]);
    store.install("p", [a, b]);
    store.commit(command().update(a, 1).update(b, 1));
    expect(store.export("full").extensions).toEqual({ a: 1, b: 1 });
  });

  it("refuses a plugin twice", async () => {
    const store = storeOf([]);
    store.install("p", [a]);
    const error = await refusedBy(store, () => store.install("p", [b]));
    expect(error).toMatchObject({ code: "plugin_already_installed", details: { plugin: "p" } });
    expect((await refusedBy(store, () => store.commit(command().update(b, 1)))).code).toBe("unknown_key");
  });

  it("refuses a name twice, in one plugin and in two, and leaves no key behind", async () => {
    const store = storeOf([]);
    store.install("p", [a]);
    const twice = await refusedBy(store, () => store.install("q", [b, c, counter("b")]));
    expect(twice).toMatchObject({ code: "key_already_registered", details: { key: "b", plugin: "q" } });
    const taken = await refusedBy(store, () => store.install("q", [b, a]));
    expect(taken).toMatchObject({ code: "key_already_registered", details: { key: "a", plugin: "q" } });
    for (const key of [b, c]) expect((await refusedBy(store, () => store.commit(command().update(key, 1)))).code).toBe("unknown_key");
    store.install("q", [b, c]);
  });

  it("is not confused by a list that its caller changes later", () => {
    const store = storeOf([]);
    const keys = [a];
    store.install("p", keys);
    keys.push(b);
    store.install("q", [b]);
    store.uninstall("p");
    store.commit(command().update(b, 1));
    expect(store.snapshot().get(b)).toBe(1);
  });
});

describe("uninstall", () => {
  it("clears the plugin's keys in one commit that listeners hear of, except those it retains", async () => {
    const store = storeOf([c]);
    store.install("p", [a, b, kept]);
    store.commit(command().update(a, 1).update(b, 2).update(kept, 3).update(c, 4));
    const before = store.snapshot();
    const notices: CommitNotice[] = [];
    store.onCommit((notice) => notices.push(notice));
    store.uninstall("p");
    expect(notices).toMatchObject([{ previousRevision: 1, newRevision: 2, opCount: 2 }]);
    expect(store.export("full")).toEqual({ schemaVersion: 1, revision: 2, extensions: { kept: 3, c: 4 } });
    expect(notices[0]?.snapshot.get(a)).toBeUndefined();
    expect([before.get(a), before.get(b), before.revision]).toEqual([1, 2, 1]);
    expect((await refusedBy(store, () => store.commit(command().update(a, 1)))).details).toEqual({ key: "a" });
  });

  it("refuses a plugin that is not installed", async () => {
    const store = storeOf([]);
    expect(await refusedBy(store, () => store.uninstall("p"))).toMatchObject({ code: "plugin_not_installed", details: { plugin: "p" } });
    store.install("p", [a]);
    store.uninstall("p");
    expect((await refusedBy(store, () => store.uninstall("p"))).code).toBe("plugin_not_installed");
  });

  it("lets the plugin come back: cleared keys start absent, retained ones go on", () => {
    const store = storeOf([]);
    store.install("p", [a, kept]);
    store.commit(command().update(a, 1).update(kept, 1));
    store.uninstall("p");
    store.install("p", [a, kept]);
    expect([store.snapshot().get(a), store.snapshot().get(kept)]).toEqual([undefined, 1]);
    store.commit(command().update(a, 5).update(kept, 5));
    expect([store.snapshot().get(a), store.snapshot().get(kept)]).toEqual([5, 6]);
  });

  it("hands a retained key to the definition of its next owner, migrated", async () => {
    const newer = defineState("kept", {
      schema: z.object({ total: z.number() }),
      initial: () => ({ total: 0 }),
      apply: (value, add: number) => ({ total: value.total + add }),
      migrations: [(total) => ({ total })],
    });
    const unreadable = defineState("kept", { schema: z.string(), initial: () => "", apply: (value) => value });
    const store = storeOf([]);
    store.install("p", [kept]);
    store.commit(command().update(kept, 3));
    store.uninstall("p");
    expect((await refusedBy(store, () => store.install("p", [a, unreadable]))).code).toBe("key_decode");
    store.install("p", [newer]);
    store.commit(command().update(newer, 1));
    expect(store.snapshot().get(newer)).toEqual({ total: 4 });
  });
});
