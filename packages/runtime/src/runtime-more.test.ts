import { memoryStore } from "@awaken/stores/memory";
import { afterEach, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { always, team } from "./builtin/delegate/team.test-support.ts";
import { toolWork } from "./builtin/tool-work-door.ts";
import { moreRoom } from "./run/more-door.ts";
import { text, toolCall } from "./testing/script.ts";
import { defineTool } from "./tool/define-tool.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

/** As when the files of the program are gone. */
const breakDoor = () => vi.spyOn(moreRoom, "open").mockImplementation(() => Promise.reject(new Error("no such file")));

const MEMBERS = {
  lead: {
    turns: always(({ role, text: said }) => {
      if (role === "tool") return text(`lead heard: ${said}`);
      return said === "enough" ? text("as you like") : toolCall("agent_run_clerk", { prompt: "pay" });
    }),
    spec: { delegates: ["clerk"], tools: [] },
  },
  clerk: { turns: always(({ role }) => (role === "tool" ? text("paid") : toolCall("pay", {}))), spec: { tools: ["pay"] } },
};

describe("a part that cannot be loaded", () => {
  test("a run that is done has its result all the same, without what the runs below used", async () => {
    const warned: string[] = [];
    const pay = defineTool({
      id: "pay",
      description: "Pays",
      input: z.object({}),
      execute: () => {
        breakDoor();
        return "paid";
      },
    });
    const log = { warn: (message: string) => warned.push(message), error() {} };
    const { runtime } = team(MEMBERS, { tools: [pay], store: memoryStore(), workers: false, log });
    expect(await runtime.run({ agent: "lead", thread: "t", input: "go" })).toMatchObject({ status: "done", text: "lead heard: paid" });
    expect(warned).toEqual(["what the runs below used could not be read: no such file"]);
    await runtime.close();
  });

  test("a call of a tool whose work cannot be loaded fails, and the model reads why", async () => {
    const pay = defineTool({ id: "pay", description: "Pays", input: z.object({}), execute: () => "paid" });
    const { runtime } = team(MEMBERS, { tools: [pay], store: memoryStore(), workers: false });
    vi.spyOn(toolWork, "open").mockImplementation(() => Promise.reject(new Error("no such file")));
    expect(await runtime.run({ agent: "lead", thread: "t", input: "go" })).toMatchObject({
      status: "done",
      text: expect.stringContaining("no such file"),
    });
    await runtime.close();
  });
});
