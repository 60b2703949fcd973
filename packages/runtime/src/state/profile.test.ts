import { AwakenError, type JsonValue } from "@awaken/contract";
import type { ProfileOwner, ProfileRecord, ProfileStore } from "@awaken/contract/store";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { thrownBy } from "../plugin/engine-bench.test-support.ts";
import { defineProfile, sharedScope } from "./define-profile.ts";
import { createProfileAccess } from "./profile.ts";

/** The port in a few lines. */
function memoryProfiles(): ProfileStore & { readonly rows: Map<string, ProfileRecord> } {
  const rows = new Map<string, ProfileRecord>();
  const at = (owner: ProfileOwner, key: string) => `${owner}\n${key}`;
  const of = (owner: ProfileOwner) => [...rows.values()].filter((row) => row.owner === owner);
  return {
    rows,
    load: async (owner, key) => rows.get(at(owner, key)),
    async put(owner, key, value: JsonValue) {
      const row: ProfileRecord = { schemaVersion: 1, owner, key, value, updatedAt: 1 };
      rows.set(at(owner, key), row);
      return row;
    },
    async delete(owner, key) {
      rows.delete(at(owner, key));
    },
    list: async (owner) => of(owner).sort((a, b) => (a.key < b.key ? -1 : 1)),
    async clear(owner) {
      for (const row of of(owner)) rows.delete(at(owner, row.key));
    },
  };
}

const mood = defineProfile("mood", { schema: z.object({ level: z.number() }), initial: () => ({ level: 5 }) });
const notes = defineProfile("notes", { schema: z.array(z.string()), initial: () => ["empty"] });
const stranger = defineProfile("stranger", { schema: z.string(), initial: () => "" });
const keys = new Map<string, typeof mood | typeof notes>([
  ["mood", mood],
  ["notes", notes],
]);

function opened() {
  const store = memoryProfiles();
  return { store, profile: createProfileAccess({ store: () => store, keys: new Map(Object.entries({ mood, notes })) }) };
}

describe("sharedScope", () => {
  it("makes exactly these strings", () => {
    expect(sharedScope.global).toBe("global");
    expect(sharedScope.parentThread("t1")).toBe("parent_thread::t1");
    expect(sharedScope.agentType("writer")).toBe("agent_type::writer");
    expect(sharedScope.thread("t2")).toBe("thread::t2");
  });
});

describe("profile access", () => {
  it("reads the default for what is missing, and stores nothing by reading", async () => {
    const { profile, store } = opened();
    expect(await profile.read(mood, "ana")).toEqual({ level: 5 });
    expect(store.rows.size).toBe(0);
  });

  it("writes, reads, deletes and deletes again", async () => {
    const { profile, store } = opened();
    await profile.write(mood, "ana", { level: 9 });
    expect(await profile.read(mood, "ana")).toEqual({ level: 9 });
    expect([...store.rows.values()]).toMatchObject([{ owner: "agent:ana", key: "mood", value: { level: 9 } }]);
    await profile.delete(mood, "ana");
    await profile.delete(mood, "ana");
    expect(await profile.read(mood, "ana")).toEqual({ level: 5 });
  });

  it("keeps instances and namespaces apart", async () => {
    const { profile } = opened();
    const instances = ["ana", sharedScope.global, sharedScope.thread("ana"), sharedScope.agentType("ana"), sharedScope.parentThread("ana")];
    for (const [level, instance] of instances.entries()) await profile.write(mood, instance, { level });
    for (const [level, instance] of instances.entries()) {
      expect(await profile.read(mood, instance)).toEqual({ level });
      expect(await profile.read(notes, instance)).toEqual(["empty"]);
    }
  });

  it("lists the registered names of one instance, sorted, and clears only that instance", async () => {
    const { profile, store } = opened();
    await profile.write(notes, "ana", ["a"]);
    await profile.write(mood, "ana", { level: 1 });
    await profile.write(mood, "bo", { level: 2 });
    await store.put("agent:ana", "of-somebody-else", 1);
    expect(await profile.list("ana")).toEqual(["mood", "notes"]);
    await profile.clear("ana");
    await profile.clear("ana");
    expect(await profile.list("ana")).toEqual([]);
    expect(await profile.read(mood, "bo")).toEqual({ level: 2 });
  });

  it("refuses a key that no plugin registered, in every operation", async () => {
    const { profile, store } = opened();
    for (const work of [
      () => profile.read(stranger, "ana"),
      () => profile.write(stranger, "ana", "x"),
      () => profile.delete(stranger, "ana"),
    ]) {
      const error = await thrownBy(work);
      expect(error).toMatchObject({ code: "profile_key_not_registered", details: { key: "stranger" } });
      expect(error.message).toBe("profile key not registered: stranger");
    }
    expect(store.rows.size).toBe(0);
  });

  it("says so when there is no store", async () => {
    const profile = createProfileAccess({ store: undefined, keys });
    for (const work of [() => profile.read(mood, "ana"), () => profile.list("ana"), () => profile.clear("ana")]) {
      expect((await thrownBy(work)).code).toBe("storage_not_found");
    }
  });

  it("refuses a stored value that does not fit", async () => {
    const { profile, store } = opened();
    await store.put("agent:ana", "mood", { level: "high" });
    const error = await thrownBy(() => profile.read(mood, "ana"));
    expect(error).toMatchObject({ code: "key_decode", details: { key: "mood", instance: "ana" } });
  });

  it("refuses to write what could not be read back, and stores nothing", async () => {
    const { store } = opened();
    const loose = defineProfile("loose", { schema: z.map(z.string(), z.number()), initial: () => new Map<string, number>() });
    const number = defineProfile("number", { schema: z.number(), initial: () => 0 });
    const big = defineProfile("big", { schema: z.bigint(), initial: () => 0n });
    const profile = createProfileAccess({ store: () => store, keys: new Map(Object.entries({ loose, number, big })) });
    for (const work of [
      () => profile.write(loose, "ana", new Map([["a", 1]])),
      () => profile.write(number, "ana", Number.NaN),
      () => profile.write(big, "ana", 1n),
    ]) {
      expect((await thrownBy(work)).code).toBe("key_encode");
    }
    expect(store.rows.size).toBe(0);
  });

  it("passes on what the store throws", async () => {
    const { store } = opened();
    const failing: ProfileStore = { ...store, put: () => Promise.reject(new AwakenError("storage_io", "disk")) };
    const profile = createProfileAccess({ store: () => failing, keys: new Map(Object.entries({ mood })) });
    expect((await thrownBy(() => profile.write(mood, "ana", { level: 1 }))).code).toBe("storage_io");
  });
});
