import { createClient } from "@awaken/client";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { KEYS, openHostScreen, type Screen } from "../chat/chat.test-support.ts";
import { HASH, KEY, type Served, startServer } from "../server.test-support.ts";
import { cli, Folders } from "../test-cli.ts";
import { remoteHost } from "./chat-host.ts";

// The chat over a server that is a process of its own.

const folders = new Folders();
let server: Served;

beforeAll(async () => {
  server = await startServer(folders.project(), { AWAKEN_API_KEYS: `acme=${HASH}` });
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folders[Symbol.dispose]();
});

const open = () => createClient({ url: server.url, token: KEY });

function chatOn(thread: string): Screen {
  const screen = openHostScreen(remoteHost(open(), { url: server.url, cwd: import.meta.dirname }), { agent: "assistant", thread });
  onTestFinished(() => screen.terminal.press(KEYS.ctrlC, KEYS.ctrlC, KEYS.ctrlC, KEYS.ctrlC));
  return screen;
}

describe("the chat over a server", () => {
  it("holds a conversation, which another chat shows when it opens the thread", async () => {
    const screen = chatOn("turns");
    await screen.sees("say something", "assistant · turns · ready");
    screen.say("hello");
    await screen.sees("> hello", "you said: hello", "ready");
    screen.say("again");
    await screen.sees("you said: again", "ready");
    await chatOn("turns").sees("> hello", "you said: hello", "> again", "you said: again", "ready");
    screen.say("/threads");
    await screen.sees(/\* turns {2}\S+ {2}done {2}hello/);
    screen.say("/events 50");
    await screen.sees(/run[-.]start/);
    expect((await open().threads.runs("turns")).items).toMatchObject([{ status: "done" }, { status: "done" }]);
  });

  it("decides a call that waits, with an input that was edited, and hears the run go on", async () => {
    const screen = chatOn("refunds");
    screen.say("refund");
    await screen.sees("? #1 Refund 120?", "waits for a decision");
    // Another chat finds it open.
    await chatOn("refunds").sees("> refund", "? #1 Refund 120?", "waits for a decision");
    screen.terminal.press(KEYS.escape);
    screen.say('/approve {"amount":90}');
    await screen.sees("succeeded: refunded 90", "result: refunded 90", "ready");
    const { items } = await open().threads.runs("refunds");
    expect(items).toMatchObject([{ status: "done", response: "result: refunded 90" }]);
  });

  it("decides two calls at once, and shows what became of both", async () => {
    const screen = chatOn("pairs");
    screen.say("two");
    await screen.sees("? #1 Refund 1?", "? #2 Refund 2?");
    screen.terminal.press(KEYS.escape);
    screen.say("/approve all");
    await screen.sees("succeeded: refunded 1", "succeeded: refunded 2", "result: refunded 2", "ready");
  });

  it("cancels a run on the server: one at work, and one that waits", async () => {
    const screen = chatOn("ends");
    screen.say("slow");
    await screen.sees("started", "running");
    screen.terminal.press(KEYS.ctrlC);
    await screen.sees("! cancelled", "ready");
    screen.say("refund");
    await screen.sees("? #1 Refund 120?");
    screen.terminal.press(KEYS.escape);
    screen.say("/cancel");
    await screen.sees(/cancelled[\s\S]*cancelled/, "ready");
    const { items } = await open().threads.runs("ends");
    expect(items).toMatchObject([
      { status: "done", termination: { type: "cancelled" } },
      { status: "done", termination: { type: "cancelled" } },
    ]);
  });

  it("shows what somebody else does on the thread, once, and takes messages after it", async () => {
    const screen = chatOn("shared");
    screen.say("hello");
    await screen.sees("you said: hello", "ready");
    await open().run({ agent: "assistant", thread: "shared", input: "from elsewhere" });
    const shown = await screen.sees("> from elsewhere", "you said: from elsewhere", "ready");
    expect(shown.split("you said: from elsewhere")).toHaveLength(2);
    screen.say("thanks");
    await screen.sees("you said: thanks", "ready");
  });

  it("tells of an agent that the server does not have", async () => {
    const screen = chatOn("nobody");
    await screen.sees("say something");
    screen.say("/agents");
    await screen.sees("the server does not list its agents");
    screen.say("/agent ghost");
    screen.say("hello");
    await screen.sees(/error[\s\S]*ghost/);
  });
});

describe("awaken chat --server", () => {
  it("talks line by line with the key of the environment, and says how to come back to what waits", async () => {
    const on = (input: string, env: Readonly<Record<string, string>> = { AWAKEN_SERVER_KEY: KEY }, ...more: readonly string[]) =>
      cli(["chat", "--server", server.url, "--agent", "assistant", ...more], { cwd: folders.empty(), env, input });
    const asked = await on("hello\nrefund\n", undefined, "--thread", "lines");
    expect(asked.stdout).toContain("you said: hello");
    expect(asked.code).toBe(3);
    expect(asked.stderr).toContain(`chat --thread lines --server ${server.url}`);
    const decided = await on("yes\n", undefined, "--thread", "lines");
    expect(decided).toMatchObject({ code: 0, stdout: expect.stringContaining("result: refunded 120") });
    const refused = await on("hello\n", {});
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain("who are you");
  });
});
