import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { allow, ask, defineTool, onAbort } from "@awaken/runtime";
import { failure, parts, scripted, stall, text, toolCall, toolCalls } from "@awaken/runtime/testing";
import { sqliteStore } from "@awaken/stores/sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { KEYS, openProject, openScreen, type ProjectParts, type Screen } from "./chat.test-support.ts";

const refund = defineTool({
  id: "refund",
  description: "Refund an order",
  input: z.object({ orderId: z.string(), amount: z.number().max(1_000) }),
  approve: ({ orderId, amount }) => (amount > 100 ? ask(`Refund ${amount} for ${orderId}?`) : allow()),
  execute: async ({ orderId, amount }) => `refunded ${amount} for ${orderId}`,
});

const endless = defineTool({
  id: "endless",
  description: "Runs until it is cancelled",
  input: z.object({}),
  execute: (_input, { signal, progress }) =>
    new Promise<string>((_resolve, reject) => {
      progress({ progress: 0.25, message: "digging" });
      onAbort(signal, () => reject(new Error("dug out")));
    }),
});

function chatWith(parts: ProjectParts): Screen {
  const project = openProject({ tools: [refund, endless], ...parts });
  const screen = openScreen(project);
  onTestFinished(async () => {
    screen.terminal.press(KEYS.ctrlC, KEYS.ctrlC, KEYS.ctrlC, KEYS.ctrlC);
    await project[Symbol.asyncDispose]();
  });
  return screen;
}

const askRefund = (amount: number, id = "call-1") => toolCall("refund", { orderId: "7", amount }, { id });

describe("the chat on a terminal", () => {
  it("shows an answer as it comes, as markdown, and the state under it", async () => {
    const gate = Promise.withResolvers<void>();
    const provider = scripted([
      parts(
        { type: "text-delta", delta: "It is **21" },
        { type: "until", promise: gate.promise },
        { type: "text-delta", delta: " degrees**." },
      ),
    ]);
    const screen = chatWith({ provider });
    await screen.sees("say something", "support · thread-1 · ready · scripted/scripted-1");
    screen.say("Weather?");
    await screen.sees("> Weather?", "It is", "support · thread-1 · running");
    gate.resolve();
    await screen.sees("It is 21 degrees.", "ready");
  });

  it("shows calls with progress and result", async () => {
    const provider = scripted([
      toolCalls([
        { name: "refund", input: { orderId: "7", amount: 9 } },
        { name: "endless", input: {} },
      ]),
    ]);
    const screen = chatWith({ provider });
    screen.say("go");
    await screen.sees('refund {"orderId":"7","amount":9}', "succeeded: refunded 9 for 7", "endless {}", "25% digging");
    screen.terminal.press(KEYS.ctrlC);
    await screen.sees("cancelled: dug out", "! cancelled", "ready");
  });

  it("approves from the menu", async () => {
    const screen = chatWith({ provider: scripted([askRefund(120), text("Done.")]) });
    screen.say("Refund 7");
    await screen.sees("? #1 Refund 120 for 7?", "→ Decide later", "Approve #1", "waits for a decision");
    screen.terminal.press(KEYS.enter);
    await screen.lacks("Approve #1");
    screen.terminal.press(KEYS.enter);
    await screen.sees("→ Decide later");
    screen.terminal.press(KEYS.down, KEYS.enter);
    await screen.sees(": approved", "succeeded: refunded 120 for 7", "Done.", "ready");
  });

  it("edits the input in place; a refused edit says why and can be corrected", async () => {
    const screen = chatWith({ provider: scripted([askRefund(120), text("Done.")]) });
    screen.say("Refund 7");
    await screen.sees("Approve #1");
    screen.terminal.press(KEYS.down, KEYS.down, KEYS.enter);
    await screen.sees("/approve #1 {", '"amount": 120');
    const change = (backs: number, digits: string) =>
      screen.terminal.press(KEYS.up, KEYS.end, ...Array.from({ length: backs }, () => KEYS.back), ...digits, KEYS.enter);
    change(3, "5000");
    await screen.sees("the edited input does not", "(invalid_resume)", '"amount": 5000');
    change(4, "90");
    await screen.sees("approved with another input", "succeeded: refunded 90 for 7", "Done.");
  });

  it("denies with a reason that the model reads, and answers in the tool's place", async () => {
    const provider = scripted([
      toolCalls([
        { name: "refund", input: { orderId: "7", amount: 120 }, id: "call-1" },
        { name: "refund", input: { orderId: "8", amount: 130 }, id: "call-2" },
      ]),
      text("One was denied."),
    ]);
    const screen = chatWith({ provider });
    screen.say("Refund both");
    await screen.sees("#1 Refund 120", "#2 Refund 130", "Approve #1", "Deny #2");
    screen.say('/answer #2 {"done":"by hand"}');
    await screen.sees(": answered", 'answered: {"done":"by hand"}', "waits for a decision");
    screen.say("/deny too much");
    await screen.sees(": denied: too much", "denied: too much", "One was denied.", "ready");
    const results = provider.requests[1]?.messages.flatMap((message) => (message.role === "tool" ? [JSON.stringify(message.content)] : []));
    expect(results).toEqual([expect.stringContaining("too much"), expect.stringContaining("by hand")]);
  });

  it("asks about a call while another one of its turn still runs", async () => {
    const lasts = Promise.withResolvers<void>();
    const slow = defineTool({ id: "slow", description: "", input: z.object({}), execute: () => lasts.promise.then(() => "slow") });
    const turn = toolCalls([
      { name: "slow", input: {}, id: "call-1" },
      { name: "refund", input: { orderId: "7", amount: 120 }, id: "call-2" },
    ]);
    const screen = chatWith({ provider: scripted([turn, text("Both done.")]), tools: [refund, slow] });
    screen.say("Refund 7");
    await screen.sees("#1 Refund 120", "Approve #1", "running slow");
    screen.terminal.press(KEYS.down, KEYS.enter);
    await screen.sees(": approved", "running slow");
    lasts.resolve();
    await screen.sees("Both done.", "ready");
  });

  it("whoever types or pastes while it asks, writes", async () => {
    const screen = chatWith({ provider: scripted([askRefund(120), text("Done.")]) });
    screen.say("Refund 7");
    await screen.sees("Edit and approve #1");
    screen.terminal.press("\u001b[200~/deny no, thanks\u001b[201~");
    await screen.sees("/deny no, thanks");
    screen.terminal.press(KEYS.enter);
    await screen.sees("denied: no, thanks", "Done.", "ready");
  });

  it("a message while a run is active is sent to it, and read after the step", async () => {
    const gate = Promise.withResolvers<void>();
    const provider = scripted([parts({ type: "text-delta", delta: "One" }, { type: "until", promise: gate.promise }), text("Two")]);
    const screen = chatWith({ provider });
    screen.say("first");
    await screen.sees("One");
    screen.say("second");
    await screen.sees("> second (sent to the run that is under way)");
    gate.resolve();
    await screen.sees("Two", "ready");
    expect(provider.requests).toHaveLength(2);
  });

  it("switches threads; a run goes on behind, and says when it is over", async () => {
    const gate = Promise.withResolvers<void>();
    const provider = scripted([parts({ type: "until", promise: gate.promise }, { type: "text-delta", delta: "late answer" })]);
    const screen = chatWith({ provider });
    screen.say("take your time");
    await screen.sees("> take your time", "running");
    screen.say("/new");
    await screen.sees("support · thread-2 · ready");
    await screen.lacks("> take your time");
    gate.resolve();
    await screen.sees("thread thread-1: its run is over");
    screen.say("/switch thread-1");
    await screen.sees("> take your time", "late answer", "thread-1 · ready");
  });

  it("commands tell what they know, and mistakes do not end the chat", async () => {
    const screen = chatWith({ provider: scripted([text("Hi.")]) });
    screen.say("/agent nobody");
    await screen.sees("there is no agent 'nobody'; there are: support, planner (agent_not_found)");
    screen.terminal.press(KEYS.ctrlC);
    screen.say("/agent planner");
    await screen.sees("messages go to planner now", "planner · thread-1");
    screen.say("hello");
    await screen.sees("Hi.");
    screen.say("/state");
    await screen.sees("of planner: done, 1 steps, 15 tokens");
    screen.say("/events 3");
    await screen.sees("run-finished");
    screen.say("/threads");
    await screen.sees(/\* thread-1 .* done {2}hello/);
  });

  it("an error of a run is one line, and the chat goes on", async () => {
    const provider = scripted([failure("unauthorized", "no\nluck"), text("Better.")]);
    const screen = chatWith({ provider });
    screen.say("try");
    await screen.sees(/error: .*no luck/, "ready");
    screen.say("again");
    await screen.sees("Better.");
  });

  it("hostile text never reaches the terminal", async () => {
    const hostile = "\u001b]0;owned\u0007\u001b[2Jbad \u009b31mtext &#27;[35m";
    const tool = defineTool({ id: "evil", description: "Says bad things", input: z.object({}), execute: async () => hostile });
    const screen = chatWith({ provider: scripted([toolCall("evil", {}), text(hostile, "\u001b", "[31mred\u001b[0m")]), tools: [tool] });
    screen.say("go");
    await screen.sees("succeeded: bad text", /bad text .*red/, "ready");
    const written = screen.terminal.written.join("");
    for (const bad of ["\u001b]0;", "\u009b", "\u001b[31m", "\u001b[35m", "owned"]) expect(written).not.toContain(bad);
  });

  it("Ctrl-C at rest asks once, then leaves", async () => {
    const screen = chatWith({ provider: scripted([]) });
    await screen.sees("say something");
    screen.terminal.press("x", KEYS.ctrlC);
    screen.terminal.press(KEYS.ctrlC);
    await screen.sees("Ctrl-C again quits");
    screen.terminal.press(KEYS.ctrlC);
    expect(await screen.over).toBe(0);
  });
});

describe("the chat after a restart", () => {
  function database(): string {
    const folder = mkdtempSync(join(tmpdir(), "awaken-chat-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    return join(folder, "chat.db");
  }

  it("shows the last thread, and what waits can still be decided", async () => {
    const file = database();
    const first = openProject({ provider: scripted([askRefund(120)]), tools: [refund], store: sqliteStore(file) });
    const before = openScreen(first);
    before.say("Refund 7");
    await before.sees("Approve #1");
    before.terminal.press(KEYS.ctrlD);
    await before.over;
    await first[Symbol.asyncDispose]();

    const screen = chatWith({ provider: scripted([text("Done.")]), store: sqliteStore(file) });
    await screen.sees("> Refund 7", "? #1 Refund 120 for 7?", "waits for a decision");
    screen.say("/approve");
    await screen.sees("succeeded: refunded 120 for 7", "Done.", "ready");
  });

  it.each([
    ["/resume", "Whole answer."],
    ["/cancel", "! cancelled"],
  ])("offers a run that was cut off, and holds a message back until it is over: %s", async (line, expected) => {
    const file = database();
    const lost = openProject({ provider: scripted([stall(text("Half an"), 1)]), store: sqliteStore(file) });
    const before = openScreen(lost);
    before.say("Tell me");
    await before.sees("Half an");
    // The first process is left as it is: nobody tells the record.
    const screen = chatWith({
      provider: scripted([...(line === "/resume" ? [text("Whole answer.")] : []), text("I do not mind.")]),
      store: sqliteStore(file),
    });
    await screen.sees("> Tell me", "was cut off", "/resume", "/cancel");
    screen.say("never mind");
    await screen.sees("not sent: a run of this thread was cut off");
    screen.say(line);
    await screen.sees(expected, "ready");
    screen.say("/send");
    await screen.sees("> never mind", "I do not mind.", "ready");
    await lost[Symbol.asyncDispose]();
  });
});
