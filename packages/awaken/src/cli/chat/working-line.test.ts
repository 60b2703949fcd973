import { failure, scripted, stall, text, toolCall } from "@awaken/runtime/testing";
import { expect, it } from "vitest";
import * as z from "zod";
import { defineTool } from "../../index.ts";
import { KEYS, openProject, openScreen } from "./chat.test-support.ts";
import { elapsedText } from "./working-line.ts";

const SPINNER = "[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]";

it("while nothing comes a spinner shows how long, and it is gone when the run is over", async () => {
  const screen = openScreen(openProject({ provider: scripted([stall(text(), 0), text("Here.")]) }));
  screen.say("hi");
  await screen.sees(new RegExp(`${SPINNER} 0 s · waiting for the model`));
  // Nobody touches the chat: the line goes on by itself.
  const before = screen.terminal.written.length;
  await screen.sees(new RegExp(`${SPINNER} [1-9]\\d* s · waiting for the model`));
  const frames = new Set(screen.terminal.written.slice(before).flatMap((drawn) => drawn.match(new RegExp(SPINNER, "g")) ?? []));
  expect(frames.size).toBeGreaterThan(1);
  screen.terminal.press(KEYS.ctrlC);
  await screen.sees("! cancelled", "ready");
  await screen.lacks("waiting for the model");
  screen.say("again");
  await screen.sees("Here.", "ready");
  await screen.lacks(" s · ");
});

it("the retry and its reason take the place of the wait, in one line", async () => {
  const screen = openScreen(openProject({ provider: scripted([failure("rate-limited", "too many\nrequests", 50_000)]) }));
  screen.say("hi");
  await screen.sees(new RegExp(`${SPINNER} \\d+ s · the model is asked again in 50 s \\(retry 1\\): too many requests`));
  screen.terminal.press(KEYS.ctrlC);
  await screen.sees("! cancelled", "ready");
  await screen.lacks("is asked again");
});

it("tools that run are named, and an answer that comes is being written", async () => {
  const wait = defineTool({
    id: "wait",
    description: "",
    input: z.object({}),
    execute: (_, { signal }) => new Promise<string>((resolve) => signal.addEventListener("abort", () => resolve("stopped"))),
  });
  const screen = openScreen(
    openProject({ provider: scripted([toolCall("wait", {}), stall(text("Half an", " answer"), 1)]), tools: [wait] }),
  );
  screen.say("hi");
  await screen.sees(new RegExp(`${SPINNER} \\d+ s · running wait`));
  screen.terminal.press(KEYS.ctrlC);
  await screen.sees("! cancelled", "ready");
  screen.say("go on");
  await screen.sees("Half an", new RegExp(`${SPINNER} \\d+ s · writing`));
  screen.terminal.press(KEYS.ctrlC);
  await screen.lacks("· writing");
});

it("time is told in seconds, then in minutes", () => {
  expect([0, 999, 59_999, 60_000, 754_000].map(elapsedText)).toEqual(["0 s", "0 s", "59 s", "1 min 0 s", "12 min 34 s"]);
});
