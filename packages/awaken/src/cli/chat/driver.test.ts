import { ask, defineTool } from "@awaken/runtime";
import { parts, scripted, text, toolCalls } from "@awaken/runtime/testing";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { blockText } from "./block-text.ts";
import { openDriver, openProject, type ProjectParts } from "./chat.test-support.ts";
import type { ChatDriver, Face } from "./driver.ts";

const pay = defineTool({
  id: "pay",
  description: "Pays",
  input: z.object({ to: z.string() }),
  approve: ({ to }) => ask(`Pay ${to}?`),
  execute: async ({ to }) => `paid ${to}`,
});

const SILENT: Face = { onChange() {}, onState() {}, onSwitch() {} };

async function start(given: ProjectParts, face: Face = SILENT): Promise<ChatDriver> {
  const driver = openDriver(openProject({ tools: [pay], ...given }));
  await driver.start(face, undefined);
  return driver;
}

const shown = (driver: ChatDriver): string => driver.conversation.blocks.map(blockText).join("\n");

const payBoth = toolCalls([
  { name: "pay", input: { to: "ana" }, id: "a" },
  { name: "pay", input: { to: "bo" }, id: "b" },
]);

describe("lines that come while a run is under way", () => {
  it("two decisions at once are both taken, one after the other, in any order", async () => {
    const driver = await start({ provider: scripted([payBoth, text("Both paid.")]) });
    await driver.submit("pay both");
    await Promise.all([driver.submit("/approve #2"), driver.submit("/deny #1 not her")]);
    expect(shown(driver)).toContain("succeeded: paid bo");
    expect(shown(driver)).toContain("denied: not her");
    expect(shown(driver)).toContain("Both paid.");
    expect(driver.talk.state.type).toBe("idle");
  });

  it("a call that waits beside one that lasts is asked about and decided at once; other words go to the run", async () => {
    const lasts = Promise.withResolvers<void>();
    const slow = defineTool({
      id: "slow",
      description: "",
      input: z.object({}),
      execute: async () => {
        await lasts.promise;
        return "slow";
      },
    });
    const turn = toolCalls([
      { name: "slow", input: {}, id: "s" },
      { name: "pay", input: { to: "ana" }, id: "a" },
    ]);
    const provider = scripted([turn, text("Both done."), text("Nothing more.")]);
    const driver = await start({ provider, tools: [pay, slow] });
    const run = driver.submit("pay");
    await expect.poll(() => driver.conversation.tickets.length).toBe(1);
    expect(driver.talk.state.type).toBe("running");
    await driver.submit("by the way");
    expect(driver.conversation.tickets).toHaveLength(1);
    await driver.submit("yes");
    expect(driver.conversation.tickets).toEqual([]);
    expect(shown(driver)).toContain("approved");
    lasts.resolve();
    await run;
    expect(shown(driver)).toMatch(/by the way[\s\S]*Both done\./);
    expect(shown(driver)).toContain("succeeded: paid ana");
    expect(driver.talk.state.type).toBe("idle");
  });

  it("a decision that comes when the run leaves to wait is taken all the same, and what comes of it is heard", async () => {
    let late: Promise<unknown> | undefined;
    const face: Face = {
      ...SILENT,
      onChange() {
        if (driver.conversation.tickets.length === 2) late ??= driver.submit("/approve all");
      },
    };
    const driver: ChatDriver = await start({ provider: scripted([payBoth, text("Both paid.")]) }, face);
    await driver.submit("pay both");
    await late;
    expect(shown(driver)).toMatch(/paid ana[\s\S]*paid bo[\s\S]*Both paid\./);
    expect(shown(driver).split("Both paid.")).toHaveLength(2);
    expect(driver.talk.state.type).toBe("idle");
  });

  it("all open tickets can be decided at once", async () => {
    const driver = await start({ provider: scripted([payBoth, text("Both paid.")]) });
    await driver.submit("pay both");
    await driver.submit("/approve all");
    expect(shown(driver)).toMatch(/paid ana[\s\S]*paid bo[\s\S]*Both paid\./);
  });

  it("two messages at once: the second one goes into the run of the first", async () => {
    const provider = scripted([text("One."), text("Two.")]);
    const driver = await start({ provider });
    await Promise.all([driver.submit("first"), driver.submit("second")]);
    const asked = provider.requests.flatMap(({ messages }) =>
      messages.filter(({ role }) => role === "user").map(({ content }) => JSON.stringify(content)),
    );
    expect(asked.join()).toContain("second");
    expect(shown(driver)).toContain("Two.");
  });

  it("a message that the run cannot take any more is queued, says so, and follows", async () => {
    let late: Promise<unknown> | undefined;
    const provider = scripted([text("One."), text("Two.")]);
    const driver: ChatDriver = await start(
      { provider },
      {
        ...SILENT,
        onChange(change) {
          // The last words of a run: it reads nothing more.
          if (change.type === "changed" && change.block.type === "answer" && !change.block.isOpen) late ??= driver.submit("second");
        },
      },
    );
    await driver.submit("first");
    await late;
    expect(shown(driver)).toBe("> first\nOne.\n> second (queued: it follows when the run is over)\nTwo.");
    expect(provider.requests).toHaveLength(2);
  });

  it("a run can be cancelled before it said anything", async () => {
    const driver = await start({ provider: scripted([parts({ type: "hang" })]) });
    const said = driver.submit("go");
    await driver.submit("/cancel");
    await said;
    expect(shown(driver)).toContain("! cancelled");
    expect(driver.talk.state.type).toBe("idle");
  });
});

describe("a thread that is opened again", () => {
  it("counts the tokens of its earlier runs, and shows the input that a call ran with", async () => {
    const driver = await start({ provider: scripted([toolCalls([{ name: "pay", input: { to: "ana" }, id: "a" }]), text("Paid.")]) });
    await driver.submit("pay ana");
    await driver.submit('/approve {"to":"bo"}');
    const { tokens } = driver.conversation;
    expect(tokens).toBeGreaterThan(0);
    const edited = '* pay {"to":"bo"} (edited, asked for {"to":"ana"})\n  succeeded: paid bo';
    expect(shown(driver)).toContain(edited);
    await driver.submit(`/switch ${driver.talk.id}`);
    expect(driver.conversation.tokens).toBe(tokens);
    expect(shown(driver)).toContain(edited);
  });
});

describe("leaving while runs are under way", () => {
  it("cancels those of all threads, and waits for their ends", async () => {
    const driver = await start({ provider: scripted([parts({ type: "hang" }), parts({ type: "hang" })]) });
    const first = driver.submit("one");
    const { talk } = driver;
    await driver.submit("/switch other");
    expect(shown(driver)).toContain("there is no thread other yet: your first message begins it");
    const second = driver.submit("two");
    expect(driver.isRunning).toBe(true);
    await driver.stop();
    expect(driver.isRunning).toBe(false);
    expect([talk.state.type, driver.talk.state.type]).toEqual(["idle", "idle"]);
    await Promise.all([first, second]);
  });
});

describe("lines that cannot be followed", () => {
  it.each([
    ["/approve", "no call waits for a decision (invalid_resume)"],
    ["/switch", "/switch needs the id of a thread"],
    ["/events many", "/events takes a number from 1 to 200, got 'many'"],
    ["/agent", "no agent is named; there are: support, planner"],
    ["/resume", "no run was cut off here"],
  ])("%s", async (line, why) => {
    const driver = await start({ provider: scripted([]) });
    await driver.submit(line);
    expect(shown(driver)).toContain(why);
  });

  it("a message that cannot be sent is given back", async () => {
    const driver = await start({ provider: scripted([]) });
    expect(await driver.submit("/approve {}")).toEqual({ type: "again", line: "/approve {}" });
  });
});
