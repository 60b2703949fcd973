import { expect, test } from "vitest";
import { fakeClock } from "../testing/index.ts";
import { within } from "./within.ts";

const NEVER = new Promise<void>(() => {});

test("a wait that is asked for after the abort is over at once, and sets no timer", async () => {
  const clock = fakeClock();
  await within({ clock }, NEVER, 1_000, AbortSignal.abort());
  expect(clock.pendingTimers).toBe(0);
});

test("a wait ends with the promise, with the time, or with the abort, and leaves no timer", async () => {
  const clock = fakeClock();
  const leaving = new AbortController();
  await within({ clock }, Promise.resolve(), 1_000, leaving.signal);
  expect(clock.pendingTimers).toBe(0);
  const late = within({ clock }, NEVER, 1_000, leaving.signal);
  await clock.advance(1_000);
  await late;
  const left = within({ clock }, NEVER, 1_000, leaving.signal);
  leaving.abort();
  await left;
  expect(clock.pendingTimers).toBe(0);
});
