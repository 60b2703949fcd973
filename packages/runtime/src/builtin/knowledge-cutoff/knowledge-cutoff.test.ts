import { type InferenceRequest, messageText } from "@awaken/contract";
import { describe, expect, test } from "vitest";
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

const DAY = 24 * 60 * 60 * 1000;
const firstTexts = (requests: readonly InferenceRequest[] = []) => requests.map(({ messages: [first] }) => (first === undefined ? "" : messageText(first)));

describe("knowledge cutoff", () => {
  test("x", async () => {
    const clock = fakeClock(Date.UTC(2026, 0, 31));
    const { model } = await runScripted({ turns: [text("hi")], runtimePlugins: [knowledgeCutoff("2025-01")], clock });
    expect(firstTexts(model?.requests)).toEqual([""]);
  });
});
