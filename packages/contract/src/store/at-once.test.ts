import { expect, test } from "vitest";
import { answerOf, atOnce } from "./at-once.ts";

test("what is answered at once can be read without waiting for it, and be waited for as any promise", async () => {
  const answer = { count: 1 };
  const promise = atOnce(answer);
  expect(answerOf(promise)).toBe(answer);
  expect(promise).toBeInstanceOf(Promise);
  expect(await promise).toBe(answer);
});

test("of any other promise nobody knows the answer before it comes", async () => {
  const promise = Promise.resolve(1);
  expect(answerOf(promise)).toBeUndefined();
  expect(answerOf(atOnce(1).then((count) => count + 1))).toBeUndefined();
});
