import { expect, test } from "vitest";
import { perObject } from "./per-object.ts";

test("what is made of an object is made once; an equal one is another, and one that failed is tried again", () => {
  let made = 0;
  let isDown = true;
  const nameOf = perObject(({ name }: { readonly name: string }) => {
    made += 1;
    if (isDown) throw new Error("down");
    return name.toUpperCase();
  });
  const ana = { name: "ana" };
  expect(() => nameOf(ana)).toThrow("down");
  isDown = false;
  expect([nameOf(ana), nameOf(ana), nameOf({ name: "ana" })]).toEqual(["ANA", "ANA", "ANA"]);
  expect(made).toBe(3);
});
