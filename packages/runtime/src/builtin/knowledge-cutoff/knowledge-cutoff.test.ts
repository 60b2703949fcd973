import { type InferenceRequest, messageText } from "@awaken/contract";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { command } from "../../phase/command.ts";
import { definePlugin } from "../../plugin/define-plugin.ts";
import { addContextMessage } from "../../prompt/actions.ts";
import { activeAgent } from "../../state/active-agent.ts";
import { fakeClock } from "../../testing/fake-clock.ts";
import { runScripted } from "../../testing/run-scripted.ts";
import { text, toolCall } from "../../testing/script.ts";
import { scripted } from "../../testing/scripted.ts";
import { defineTool } from "../../tool/define-tool.ts";
import { reply } from "../../tool/reply.ts";
import { knowledgeCutoff } from "./knowledge-cutoff.ts";

const leading = (requests: readonly InferenceRequest[] = []) =>
  requests.map(({ messages }) => messages.filter((message) => message.role === "system").map(messageText));

const cutoff = (date: string, month: string) => expect.stringMatching(new RegExp(`${date}.*${month}`));

describe("knowledge cutoff", () => {
  test("each step hears today's UTC date and the cutoff before everything else, also when midnight passes", async () => {
    const clock = fakeClock(Date.UTC(2026, 0, 31, 23, 59));
    const wait = defineTool({ id: "wait", description: "waits", input: z.object({}), execute: () => clock.advance(60_000) });
    const note = { key: "a", role: "system", target: "system", content: "note", persistent: true } as const;
    const other = definePlugin({
      id: "other",
      register: (r) => r.hook("runStart", () => command().schedule(addContextMessage, note)),
    });
    const turns = [toolCall("none", {}), toolCall("wait", {}), text("done")];
    const { model } = await runScripted({ turns, tools: [wait], plugins: [other], runtimePlugins: [knowledgeCutoff("2025-01")], clock });
    const first = [cutoff("2026-01-31", "2025-01"), "note"];
    expect(leading(model?.requests)).toEqual([first, first, [cutoff("2026-02-01", "2025-01"), "note"]]);
    const [one, two] = model?.requests ?? [];
    expect(one?.messages[0]).toBe(two?.messages[0]);
  });

  test("it is off when the section says so", async () => {
    const spec = { sections: { knowledge_cutoff_context: { enabled: false } } };
    const { model } = await runScripted({ turns: [text("hi")], spec, runtimePlugins: [knowledgeCutoff("2025-01")] });
    expect(leading(model?.requests)).toEqual([[]]);
  });

  test("it leaves with its agent", async () => {
    const go = defineTool({
      id: "go",
      description: "hands over",
      input: z.object({ to: z.string() }),
      execute: ({ to }) => reply(to, { command: command().update(activeAgent, to) }),
    });
    const seat = definePlugin({ id: "seat", register: (r) => r.state(activeAgent) });
    using next = scripted([text("done")]);
    const { model } = await runScripted({
      turns: [toolCall("go", { to: "b" })],
      tools: [go],
      plugins: [seat],
      runtimePlugins: [knowledgeCutoff("2025-01")],
      agents: { b: { model: next, plugins: [seat] } },
    });
    expect(leading(model?.requests)).toEqual([[cutoff("1970-01-01", "2025-01")]]);
    expect(leading(next.requests)).toEqual([[]]);
  });
});
