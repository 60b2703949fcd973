import type { JsonValue, Schema } from "@awaken/contract";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { command } from "../phase/command.ts";
import { refusedBy, storeOf } from "../plugin/engine-bench.test-support.ts";
import { defineState, type StateInit } from "./key.ts";

/** A key whose update is its next value, whatever the schema says that it is. */
const keyOf = <V extends JsonValue>(schema: Schema<V>, more: Partial<StateInit<V, unknown>> = {}) =>
  defineState<V, unknown>("k", { schema, initial: () => null as V, apply: (_value, next) => next as V, ...more });

const commit = <V extends JsonValue>(schema: Schema<V>, value: unknown, more?: Partial<StateInit<V, unknown>>) => {
  const key = keyOf(schema, more);
  const store = storeOf([key]);
  return { store, key, run: () => store.commit(command().update(key, value)) };
};

/** A schema that counts how often it is asked. */
function counted(check: (value: unknown) => boolean) {
  const asked: unknown[] = [];
  const validate = (value: unknown) => {
    asked.push(value);
    return check(value) ? { value: value as JsonValue } : { issues: [{ message: "not this" }] };
  };
  const schema: Schema<JsonValue> = { "~standard": { version: 1, vendor: "test", validate } };
  return { asked, schema };
}

describe("a value is checked when it is committed", () => {
  it("one outside the schema is refused with its key, and nothing changes", async () => {
    const { store, run } = commit(z.object({ a: z.array(z.number()) }), { a: [1, "2"] });
    expect(await refusedBy(store, run)).toMatchObject({
      code: "key_encode",
      details: { key: "k", message: expect.stringContaining("a.1") },
    });
  });

  it("of a batch that has one such value nothing is committed", async () => {
    const good = defineState("good", { schema: z.number(), initial: () => 0, apply: (_value, next: number) => next });
    const bad = keyOf(z.number());
    const store = storeOf([good, bad]);
    await refusedBy(store, () => store.commit(command().update(good, 1).update(bad, "one")));
    await refusedBy(store, () => store.check(command().update(good, 1).update(bad, "one")));
  });

  it("one that is not persistent is checked, too", async () => {
    const { store, run } = commit(z.string(), 5, { persistent: false });
    expect((await refusedBy(store, run)).code).toBe("key_encode");
  });

  it("an asynchronous schema is refused by name, also when it never answers or rejects", async () => {
    // biome-ignore lint/suspicious/noThenProperty: a promise of another make, which never calls back.
    const never: PromiseLike<never> = { then: () => never };
    const answers = [
      async () => ({ value: 1 }),
      () => new Promise<never>(() => {}),
      () => Promise.reject(new Error("no")),
      () => never as Promise<never>,
    ];
    for (const validate of answers) {
      const { store, run } = commit({ "~standard": { version: 1, vendor: "test", validate } } as Schema<number>, 1);
      expect(await refusedBy(store, run)).toMatchObject({ code: "invalid_schema", details: { key: "k" } });
    }
  });

  it("a schema that throws refuses", async () => {
    const throwing: Schema<number> = {
      "~standard": {
        version: 1,
        vendor: "test",
        validate() {
          throw new Error("no idea");
        },
      },
    };
    const { store, run } = commit(throwing, 1);
    expect(await refusedBy(store, run)).toMatchObject({ code: "key_encode", message: expect.stringContaining("no idea") });
  });

  it("each changed value is asked about once, an unchanged one never, and two updates of a key count as one", () => {
    const { asked, schema } = counted(() => true);
    const key = keyOf(schema);
    const { asked: others, schema: other } = counted(() => true);
    const bystander = defineState("bystander", { schema: other, initial: (): JsonValue => 0, apply: (_value, next: JsonValue) => next });
    const store = storeOf([key, bystander]);
    const value = { big: [1, 2, 3] };
    store.commit(command().update(key, value).update(bystander, 1));
    store.commit(command().update(key, 1).update(key, 2));
    store.commit(command().update(key, 2));
    store.export("full");
    expect(asked).toEqual([value, 2]);
    expect(others).toEqual([1]);
  });
});

describe("schemas that change what they take", () => {
  it("the value is kept as it was given, and what was stored loads again as the schema makes it", () => {
    const { store, key, run } = commit(z.object({ name: z.string().trim(), mood: z.string().default("calm") }), { name: " a ", more: 1 });
    run();
    expect(store.snapshot().get(key)).toEqual({ name: " a ", more: 1 });
    const again = storeOf([key]);
    again.restore(store.export("full"), "error");
    expect(again.snapshot().get(key)).toEqual({ name: "a", mood: "calm" });
    again.commit(command().update(key, again.snapshot().get(key)));
  });

  it("one that does not take values of its own output refuses the first of them", async () => {
    const { store, run } = commit(z.string().transform(Number), 5);
    expect((await refusedBy(store, run)).code).toBe("key_encode");
  });

  it("one that does not take what it gives is refused before the second load would fail", async () => {
    const wraps = z.union([z.string(), z.number()]).transform((value) => (typeof value === "string" ? value.length : { wrapped: value }));
    const { store, run } = commit(wraps, 5);
    expect(await refusedBy(store, run)).toMatchObject({ code: "key_encode", message: expect.stringContaining("what the schema makes") });
  });
});

describe("onInvalid", () => {
  it("must be a choice", () => {
    expect(() => keyOf(z.number(), { onInvalid: "ignore" as "drop" })).toThrow(
      /'onInvalid' of state key .* must be "fail", "drop" or a function/,
    );
  });

  it("is not asked about values of a newer program, which fail, nor about a seed, which is nobody's past", async () => {
    const key = keyOf(z.number(), { onInvalid: "drop" });
    const store = storeOf([key]);
    const newer = { schemaVersion: 1, revision: 1, extensions: { k: 1 }, versions: { k: 2 } } as const;
    expect((await refusedBy(store, () => store.restore(newer, "skip"))).code).toBe("key_decode");
    const seed = { schemaVersion: 1, revision: 1, extensions: { k: "x" } } as const;
    expect((await refusedBy(store, () => store.seed(seed))).code).toBe("key_decode");
    store.restore(seed, "skip");
    expect(store.snapshot().get(key)).toBeUndefined();
  });

  it("takes care of a migration that throws, and of a key that is registered after its value came", () => {
    const key = keyOf(z.number(), {
      scope: "thread",
      migrations: [
        () => {
          throw new Error("unforeseen");
        },
      ],
      onInvalid: (stored, problem) => (typeof stored === "string" && problem.includes("unforeseen") ? stored.length : undefined),
    });
    const stored = { schemaVersion: 1, revision: 1, extensions: { k: "abc" } } as const;
    const store = storeOf([]);
    store.restoreThread(stored);
    store.register([key]);
    expect(store.snapshot().get(key)).toBe(3);
  });
});
