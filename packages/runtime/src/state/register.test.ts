import { describe, expect, it } from "vitest";
import * as z from "zod";
import { command } from "../phase/command.ts";
import { counter, storeOf } from "../plugin/engine-bench.test-support.ts";
import { defineState } from "./key.ts";

const a = counter("a");
const b = counter("b");

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
