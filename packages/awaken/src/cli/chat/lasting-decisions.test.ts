import { permission } from "@awaken/extensions/permission";
import { ask, defineTool } from "@awaken/runtime";
import { scripted, text, toolCall, toolCalls } from "@awaken/runtime/testing";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { approvalMenu, type Choice } from "./approval-menu.ts";
import { blockText } from "./block-text.ts";
import { openDriver, openProject } from "./chat.test-support.ts";
import type { ChatDriver } from "./driver.ts";
import { createTheme } from "./theme.ts";

const KEYS = { down: "\u001b[B", enter: "\r" };

const bash = defineTool({
  id: "bash",
  description: "",
  input: z.object({ command: z.string() }),
  execute: ({ command }) => `ran ${command}`,
});
const pay = defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });
const run = (command: string) => toolCall("bash", { command });

async function start(turns: Parameters<typeof scripted>[0], store = memoryStore()): Promise<ChatDriver> {
  const driver = openDriver(openProject({ provider: scripted(turns), tools: [bash, pay], plugins: [permission()], store }));
  await driver.start({ onChange() {}, onState() {}, onSwitch() {} }, undefined);
  return driver;
}

const shown = (driver: ChatDriver): string => driver.conversation.blocks.map(blockText).join("\n");

describe("decisions for the rest of the thread", () => {
  it("`always` lets the call run, and the next of its tool without a question", async () => {
    const driver = await start([run("ls"), run("pwd"), text("Done.")]);
    await driver.submit("look around");
    expect(shown(driver)).toContain("yes or no, always or never for this thread");
    await driver.submit("always");
    expect(shown(driver)).toContain("approved for this thread");
    expect(shown(driver)).toContain("succeeded: ran pwd");
    expect(driver.conversation.tickets).toEqual([]);
  });

  it("/always with a pattern is for what it matches; /never refuses what it matches", async () => {
    const driver = await start([run("npm i"), run("npm t"), run("rm x"), run("rm y"), text("Done.")]);
    await driver.submit("go");
    await driver.submit("/always #1 bash(npm *)");
    expect(shown(driver)).toContain("approved for this thread: bash(npm *)");
    expect(driver.conversation.tickets.map(({ ticket }) => ticket.input)).toEqual([{ command: "rm x" }]);
    await driver.submit("/never bash(rm *)");
    expect(shown(driver)).toContain("denied for this thread: bash(rm *)");
    expect(shown(driver)).toContain("Tool 'bash' denied by permission rules");
    expect(shown(driver)).toContain("Done.");
  });

  it("of several, it is asked which; a pattern that cannot be read is told, and nothing is decided", async () => {
    const two = toolCalls([
      { name: "bash", input: { command: "a" } },
      { name: "bash", input: { command: "b" } },
    ]);
    const driver = await start([two, text("Done.")]);
    await driver.submit("go");
    await driver.submit("always");
    expect(shown(driver)).toContain("2 calls wait: which do you always allow? #1, #2, or all");
    await driver.submit("/always #1 bash(");
    expect(shown(driver)).toContain("parse error at 4");
    expect(driver.conversation.tickets).toHaveLength(2);
    await driver.submit("/always all");
    expect(shown(driver)).toContain("Done.");
  });

  it("a question that a tool asks itself cannot be answered for ever", async () => {
    const driver = await start([toolCall("pay", {}), toolCall("pay", {})]);
    await driver.submit("go");
    await driver.submit("always");
    // The tool is allowed now, and asks by itself.
    expect(driver.conversation.tickets.map(({ ticket }) => ticket.message)).toEqual(["Pay?"]);
    expect(shown(driver)).toContain("yes or no, /approve");
    await driver.submit("always");
    expect(shown(driver)).toContain("asks for itself alone: /approve or /deny it");
    expect(driver.conversation.tickets).toHaveLength(1);
  });

  it("the menu offers it for permissions", async () => {
    const driver = await start([run("ls"), text("Done.")]);
    await driver.submit("go");
    const chosen: Choice[] = [];
    const menu = approvalMenu(driver.conversation.tickets, createTheme({ hasColors: false }), (choice) => chosen.push(choice));
    expect(menu.render(100).join("\n")).toMatch(/Approve #1[\s\S]*Always for this thread #1[\s\S]*Never in this thread #1/);
    for (const key of [KEYS.down, KEYS.down, KEYS.enter]) menu.handleInput(key);
    expect(chosen).toEqual([{ type: "submit", line: "/always #1" }]);
  });
});
