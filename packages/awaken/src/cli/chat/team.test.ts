import { allow, ask, defineTool } from "@awaken/runtime";
import { type ScriptStep, scripted, text, toolCall } from "@awaken/runtime/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { KEYS, openProject, openScreen, type ProjectParts, type Screen } from "./chat.test-support.ts";

const refund = defineTool({
  id: "refund",
  description: "Refund an order",
  input: z.object({ amount: z.number() }),
  approve: ({ amount }) => (amount > 100 ? ask(`Refund ${amount}?`) : allow()),
  execute: ({ amount }) => `refunded ${amount}`,
});

const sendOut = defineTool({
  id: "send_out",
  description: "Sends others out",
  input: z.object({}),
  execute: async (_, { tasks }) => {
    await tasks.spawn({ name: "count" }, async () => 42);
    await tasks.spawnAgent({ agent: "planner", name: "finder", input: "refund it" });
    return "sent out";
  },
});

function chatWith(parts: ProjectParts): Screen {
  const project = openProject({ tools: [refund, sendOut], ...parts });
  const screen = openScreen(project);
  onTestFinished(async () => {
    screen.terminal.press(KEYS.ctrlC, KEYS.ctrlC, KEYS.ctrlC, KEYS.ctrlC);
    await project[Symbol.asyncDispose]();
  });
  return screen;
}

describe("several agents in the chat", () => {
  it("a delegate is shown when it begins and ends; what it asks is decided here, and says who asks", async () => {
    const provider = scripted([
      toolCall("agent_run_planner", { prompt: "refund it" }, { id: "c1" }),
      toolCall("refund", { amount: 120 }, { id: "c2" }),
      text("It is refunded."),
      text("The planner did it."),
    ]);
    const screen = chatWith({ provider, support: { delegates: ["planner"] } });
    screen.say("Refund 7");
    await screen.sees("- support > planner begins", "? #1 Refund 120?", "(asked by support > planner)", "waits for a decision");
    screen.say("/approve");
    const shown = await screen.sees("- support > planner done", "The planner did it.", "ready");
    expect(shown.indexOf("planner begins")).toBeLessThan(shown.indexOf("? #1"));
  });

  it("work in the background is one line each, which says how far it is; what one of them asks is decided here", async () => {
    /** Both agents have this model: what it says follows from what it reads. */
    const model: ScriptStep = ({ messages }) => {
      const [first] = messages;
      const isPlanner = JSON.stringify(first?.content).includes("refund it");
      const results = messages.filter(({ role }) => role === "tool").length;
      if (isPlanner) return results === 0 ? toolCall("refund", { amount: 120 }) : text("refunded");
      const news = new Set(messages.flatMap(({ metadata }) => (metadata?.task?.kind === "completed" ? metadata.task.taskId : [])));
      if (results === 0) return toolCall("send_out", {});
      return text(news.size === 2 ? "Both are back." : "I wait.");
    };
    const screen = chatWith({ provider: scripted(new Array<ScriptStep>(30).fill(model)), workers: true });
    screen.say("go");
    await screen.sees("+ bg_0 count: completed", "+ bg_1 finder: running", "? #1 Refund 120?", "(asked by support > planner)");
    screen.say("/approve");
    const shown = await screen.sees("+ bg_1 finder: completed", "Both are back.", "ready");
    expect(shown.match(/bg_1 finder/g)).toHaveLength(1);
  });
});
