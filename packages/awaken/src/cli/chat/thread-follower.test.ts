import { ask, defineTool } from "@awaken/runtime";
import { parts, scripted, text, toolCall } from "@awaken/runtime/testing";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "../../create-runtime.ts";
import { blockText } from "./block-text.ts";
import { openDriver, openProject } from "./chat.test-support.ts";
import type { ChatDriver, Face } from "./driver.ts";

const SILENT: Face = { onChange() {}, onState() {}, onSwitch() {} };
const pay = defineTool({
  id: "pay",
  description: "Pays",
  input: z.object({ to: z.string() }),
  approve: ({ to }) => ask(`Pay ${to}?`),
  execute: async ({ to }) => `paid ${to}`,
});

/** Nobody is gone. */
const node = { name: "the chat", isGone: () => false };

/** Another process on the same store. */
const openOther = (store: ReturnType<typeof memoryStore>, provider: NonNullable<RuntimeInit["providers"]>[string]) =>
  createRuntime({
    providers: { scripted: provider },
    models: { fast: { provider: "scripted", model: "scripted-1" } },
    agents: { support: { model: "fast" } },
    tools: [pay],
    workers: false,
    store,
    log: { warn() {}, error() {} },
  });

const shown = (driver: ChatDriver): string => driver.conversation.blocks.map(blockText).join("\n");
const times = (driver: ChatDriver, words: string): number => shown(driver).split(words).length - 1;

describe("a chat on a thread where other processes work", () => {
  it("shows their runs as they go, and goes on with the thread when they are over", async () => {
    const store = memoryStore();
    await using project = openProject({ provider: scripted([text("Hello."), text("Here again.")]), store, tools: [pay], node });
    const driver = openDriver(project);
    await driver.start(SILENT, "t");
    await driver.submit("hi");
    const { promise, resolve } = Promise.withResolvers<void>();
    const say = (delta: string) => ({ type: "text-delta", delta }) as const;
    const turn = parts(say("One half"), { type: "until", promise }, say(" and the other."), { type: "stop", reason: "end-turn" });
    await using other = openOther(store, scripted([turn]));
    const run = other.stream({ agent: "support", thread: "t", input: "from elsewhere" });
    await expect.poll(() => shown(driver)).toContain("One half");
    expect(shown(driver)).toContain("from elsewhere");
    expect(shown(driver)).toContain(`another process executes run ${run.id}`);
    expect(await driver.submit("me too")).toMatchObject({ type: "done" });
    expect(shown(driver)).toContain("not sent: another process executes a run of this thread");
    resolve();
    await run.result;
    await expect.poll(() => driver.talk.state.type).toBe("idle");
    await expect.poll(() => shown(driver)).toContain("One half and the other.");
    await driver.submit("/send");
    expect(shown(driver)).toMatch(/me too[\s\S]*Here again\./);
    for (const words of ["Hello.", "from elsewhere", "One half", "Here again."]) expect([words, times(driver, words)]).toEqual([words, 1]);
  });

  it("a ticket that a run elsewhere opened is asked about and decided here", async () => {
    const store = memoryStore();
    await using project = openProject({ provider: scripted([text("It is paid.")]), store, tools: [pay], node });
    const driver = openDriver(project);
    await using other = openOther(store, scripted([text("Hello."), toolCall("pay", { to: "ana" })]));
    await other.run({ agent: "support", thread: "t", input: "hi" });
    await driver.start(SILENT, "t");
    expect((await other.run({ agent: "support", thread: "t", input: "pay ana" })).status).toBe("waiting");
    await expect.poll(() => driver.talk.state.type).toBe("waiting");
    expect(driver.conversation.tickets).toHaveLength(1);
    await driver.submit("yes");
    expect(shown(driver)).toContain("succeeded: paid ana");
    expect(shown(driver)).toContain("It is paid.");
    expect(driver.talk.state.type).toBe("idle");
    for (const words of ["Hello.", "It is paid.", "succeeded: paid ana"]) expect([words, times(driver, words)]).toEqual([words, 1]);
  });

  it("one that is under way when the chat opens is shown from its beginning, once; a decision elsewhere closes the ticket here", async () => {
    const store = memoryStore();
    const { promise, resolve } = Promise.withResolvers<void>();
    const say = (delta: string) => ({ type: "text-delta", delta }) as const;
    const last = parts(say("Nearly"), { type: "until", promise }, say(" there."), { type: "stop", reason: "end-turn" });
    await using other = openOther(store, scripted([text("Hello."), toolCall("pay", { to: "bo" }), last]));
    await other.run({ agent: "support", thread: "t", input: "hi" });
    const waiting = await other.run({ agent: "support", thread: "t", input: "pay bo" });
    const ticket = waiting.status === "waiting" ? (waiting.tickets[0]?.id ?? "") : expect.fail("it does not wait");
    await using watching = openProject({ provider: scripted([]), store, tools: [pay], node });
    const early = openDriver(watching);
    await early.start(SILENT, "t");
    expect(early.conversation.tickets).toHaveLength(1);
    const decided = await other.decide(ticket, { action: "approve" });
    await expect.poll(() => shown(early)).toContain("Nearly");
    expect(early.conversation.tickets).toEqual([]);
    const late = openDriver(watching);
    await late.start(SILENT, "t");
    await expect.poll(() => shown(late)).toContain("Nearly");
    resolve();
    await decided.result;
    for (const driver of [early, late]) {
      await expect.poll(() => shown(driver)).toContain("Nearly there.");
      await expect.poll(() => driver.talk.state.type).toBe("idle");
      for (const words of ["Hello.", "pay bo", "paid bo", "Nearly there."]) expect([words, times(driver, words)]).toEqual([words, 1]);
    }
  });

  it("a chat that turns to another thread hears nothing of the one that it left", async () => {
    const store = memoryStore();
    await using project = openProject({ provider: scripted([text("Hello.")]), store, node });
    const driver = openDriver(project);
    await driver.start(SILENT, "t");
    await driver.submit("hi");
    const left = driver.talk;
    await driver.submit("/new");
    await using other = openOther(store, scripted([text("Unheard.")]));
    await other.run({ agent: "support", thread: "t", input: "x" });
    await new Promise((done) => setTimeout(done, 50));
    expect(left.conversation.blocks.map(blockText).join("\n")).not.toContain("Unheard.");
    expect(shown(driver)).not.toContain("Unheard.");
  });
});
