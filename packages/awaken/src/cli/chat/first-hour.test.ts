import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { scripted, text } from "@awaken/runtime/testing";
import { expect, it } from "vitest";
import { KEYS, openProject, openScreen } from "./chat.test-support.ts";
import { Conversation } from "./conversation.ts";
import { openHistory } from "./input-history.ts";

it("a complete argument needs one Enter, and an unknown command clears and suggests", async () => {
  const screen = openScreen(openProject({ provider: scripted([text("Hello.")]) }));
  await screen.sees("/help lists the commands");
  screen.say("/agent planner");
  await screen.sees("messages go to planner now");
  screen.say("/agnets");
  await screen.sees("unknown command /agnets: did you mean /agents?");
  screen.say("hi");
  await screen.sees("> hi", "Hello.");
  screen.terminal.press(KEYS.ctrlD);
  expect(await screen.over).toBe(0);
});

it("what was typed is there after a restart, and for this project alone", () => {
  const home = mkdtempSync(join(tmpdir(), "awaken-home-"));
  try {
    const env = { XDG_STATE_HOME: home };
    openHistory("/a", env).add("first");
    openHistory("/a", env).add("second");
    openHistory("/a", env).add("second");
    expect(openHistory("/a", env).lines).toEqual(["first", "second"]);
    expect(openHistory("/b", env).lines).toEqual([]);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});

it("a note or a message in the middle of an answer does not cut it in two", () => {
  const conversation = new Conversation();
  conversation.begin(false);
  conversation.apply({ type: "text-delta", delta: "one " });
  conversation.note("listing", "the agents");
  conversation.user("and?", "sent");
  conversation.apply({ type: "text-delta", delta: "answer" });
  expect(conversation.blocks.map((block) => ("text" in block ? block.text : ""))).toEqual(["one answer", "the agents", "and?"]);
});
