import { AwakenError, type JsonObject, type JsonValue } from "@awaken/contract";
import { userRecord } from "@awaken/contract/spec";
import { type ConfigKey, profileOwner, type Store } from "@awaken/contract/store";
import { describe, expect } from "vitest";
import { checkpoint, R1, R2 } from "./records.ts";
import { type ConformanceHooks, failure, type StoreTest, take, vandalise } from "./world.ts";

export function smallStoreConformance(it: StoreTest, { hearsPeers = false }: Pick<ConformanceHooks, "hearsPeers">): void {
  describe("stream checkpoints", () => streamCheckpoints(it));
  describe("profiles", () => profiles(it));
  describe("config records", () => {
    config(it);
    configChanges(it, hearsPeers);
  });
}

function streamCheckpoints(it: StoreTest): void {
  it("are one row per run and step, replaced by each put", async ({ store }) => {
    await store.streamCheckpoints.put(checkpoint());
    await store.streamCheckpoints.put(checkpoint({ step: 1, partialText: "other" }));
    await store.streamCheckpoints.put(checkpoint({ partialText: "Hello", updatedAt: 101 }));
    expect(await store.streamCheckpoints.load(R1, 0)).toEqual(checkpoint({ partialText: "Hello", updatedAt: 101 }));
    expect(await store.streamCheckpoints.load(R1, 1)).toMatchObject({ partialText: "other" });
    expect(await store.streamCheckpoints.load(R2, 0)).toBeUndefined();
    await failure(store.streamCheckpoints.put(checkpoint({ step: -1 })), "storage_validation");
  });

  it("are deleted one by one; nothing to delete is fine", async ({ store }) => {
    for (const step of [0, 1]) await store.streamCheckpoints.put(checkpoint({ step }));
    await store.streamCheckpoints.delete(R1, 0);
    await store.streamCheckpoints.delete(R1, 0);
    await store.streamCheckpoints.delete(R2, 5);
    expect(await store.streamCheckpoints.load(R1, 0)).toBeUndefined();
    expect(await store.streamCheckpoints.load(R1, 1)).toBeDefined();
  });
}

function profiles(it: StoreTest): void {
  const owner = profileOwner("assistant");

  it("hold any JSON by owner and key; the last writer wins", async ({ store, clock }) => {
    const values: readonly JsonValue[] = [
      null,
      false,
      0,
      "",
      [],
      {},
      { "a.b": [1, { c: null }], __proto: 1 },
      JSON.parse('{"__proto__":{"x":1}}'),
    ];
    for (const [index, value] of values.entries()) {
      const record = await store.profiles.put(owner, `k${index}`, value);
      expect(record).toEqual({ schemaVersion: 1, owner, key: `k${index}`, value, updatedAt: clock.now() });
      expect(await store.profiles.load(owner, `k${index}`)).toEqual(record);
    }
    clock.advance(5);
    await store.profiles.put(owner, "k0", "new");
    expect(await store.profiles.load(owner, "k0")).toMatchObject({ value: "new", updatedAt: clock.now() });
    expect(await store.profiles.load(owner, "unknown")).toBeUndefined();
  });

  it("owners do not see each other", async ({ store }) => {
    const owners = [owner, profileOwner("assistant%"), profileOwner("assistant_"), profileOwner("thread::t1"), "system"] as const;
    for (const each of owners) await store.profiles.put(each, "k", each);
    for (const each of owners) expect(await store.profiles.load(each, "k")).toMatchObject({ value: each });
    await store.profiles.clear(profileOwner("assistant%"));
    await store.profiles.delete("system", "k");
    expect(await store.profiles.load(owner, "k")).toBeDefined();
    expect(await store.profiles.load(profileOwner("assistant_"), "k")).toBeDefined();
    expect(await store.profiles.load("system", "k")).toBeUndefined();
  });

  it("are listed by key in code unit order, and cleared together", async ({ store }) => {
    const keys = ["b", "a", "B", "ä", "😀", "\uffff", "a.b", "10", "9", "_", "%"];
    for (const key of keys) await store.profiles.put(owner, key, key);
    const listed = (await store.profiles.list(owner)).map((record) => record.key);
    expect(listed).toEqual([...keys].sort());
    await store.profiles.delete(owner, "a");
    await store.profiles.delete(owner, "a");
    expect(await store.profiles.list(owner)).toHaveLength(keys.length - 1);
    await store.profiles.clear(owner);
    await store.profiles.clear(owner);
    expect(await store.profiles.list(owner)).toEqual([]);
  });

  it("what is not JSON, a blank key and an unknown owner are refused", async ({ store }) => {
    const notJson: JsonValue = JSON.parse("1e999");
    await failure(store.profiles.put(owner, "k", notJson), "storage_validation");
    await failure(store.profiles.put(owner, " ", 1), "storage_validation");
    await failure(store.profiles.put(profileOwner(" "), "k", 1), "storage_validation");
    expect(await store.profiles.list(owner)).toEqual([]);
  });
}

const entry = (id: string, spec: JsonObject = {}, namespace = "agents") => ({ namespace, id, record: userRecord(spec) });
const key: ConfigKey = { namespace: "agents", id: "a" };

function config(it: StoreTest): void {
  it("the store counts revisions and keeps the times", async ({ store, clock }) => {
    const first = await store.config.put(entry("a", { model: "m" }));
    expect(first.record).toMatchObject({ spec: { model: "m" }, meta: { revision: 1, createdAt: clock.now(), updatedAt: clock.now() } });
    clock.advance(5);
    const second = await store.config.put({ ...key, record: { ...first.record, spec: { model: "n" } } });
    expect(second.record.meta).toMatchObject({ revision: 2, createdAt: clock.now() - 5, updatedAt: clock.now() });
    vandalise([first, second]);
    expect((await store.config.load(key))?.record).toMatchObject({ spec: { model: "n" }, meta: { revision: 2 } });
    expect(await store.config.load({ namespace: "models", id: "a" })).toBeUndefined();
  });

  it("a guard that does not match is a version_conflict with both numbers", async ({ store }) => {
    await failure(store.config.put(entry("a"), { expectedRevision: 1 }), "version_conflict");
    await store.config.put(entry("a", { n: 1 }), { expectedRevision: 0 });
    const conflict = await failure(store.config.put(entry("a"), { expectedRevision: 0 }), "version_conflict");
    expect(conflict.details).toEqual({ ...key, expected: 0, actual: 1 });
    await failure(store.config.delete(key, { expectedRevision: 2 }), "version_conflict");
    expect((await store.config.load(key))?.record.spec).toEqual({ n: 1 });
    expect(await store.config.delete(key, { expectedRevision: 1 })).toBe(true);
    expect(await store.config.delete(key)).toBe(false);
    expect((await store.config.put(entry("a"), { expectedRevision: 0 })).record.meta.revision).toBe(1);
  });

  it("of concurrent writers with one guard exactly one wins", async ({ store, peer }) => {
    const puts = Array.from({ length: 8 }, (_, index) =>
      (index % 2 === 0 ? store : peer).config.put(entry("a", { index }), { expectedRevision: 0 }),
    );
    const outcomes = await Promise.allSettled(puts);
    expect(outcomes.filter((outcome) => outcome.status === "fulfilled")).toHaveLength(1);
    const lost = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
    expect(lost.every((reason) => AwakenError.is(reason) && reason.code === "version_conflict")).toBe(true);
  });

  it("are listed by id in code unit order, page by page", async ({ store }) => {
    for (const id of ["b", "a", "B", "c"]) await store.config.put(entry(id));
    await store.config.put(entry("z", {}, "models"));
    const first = await store.config.list("agents", { limit: 3 });
    expect(first.items.map((each) => each.id)).toEqual(["B", "a", "b"]);
    expect((await store.config.list("agents", { after: first.next ?? expect.fail() })).items.map((each) => each.id)).toEqual(["c"]);
    expect(await store.config.list("nothing")).toEqual({ items: [] });
    await failure(store.config.put(entry(" ")), "storage_validation");
  });
}

function configChanges(it: StoreTest, hearsPeers: boolean): void {
  const watch = async (watcher: Store, writer: Store) => {
    const watching = new AbortController();
    const seen = take(watcher.config.watch({ signal: watching.signal }), 3);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await writer.config.put(entry("a"));
    await writer.config.put(entry("b", {}, "models"));
    await writer.config.delete(key);
    expect(await seen).toEqual([key, { namespace: "models", id: "b" }, key]);
    const ended = take(watcher.config.watch({ signal: watching.signal }), 1);
    watching.abort();
    expect(await ended).toEqual([]);
  };

  it("changes reach whoever watches", async ({ store }) => watch(store, store));

  if (hearsPeers) it("changes of another process reach whoever watches", async ({ store, peer }) => watch(store, peer));
}
