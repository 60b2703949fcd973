// @vitest-environment jsdom

import { HttpAgent } from "@ag-ui/client";
import { HttpAgent as OlderAgent } from "@ag-ui/client-0";
import { ask, defineTool, reply } from "@awaken/runtime";
import { act } from "@testing-library/react";
import { lastAssistantMessageIsCompleteWithApprovalResponses, safeValidateUIMessages, type UIMessage } from "ai";
import { afterAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { stopServer } from "../relay/support/nodes.ts";
import { approvalIdOf, callOf, openPage } from "./support/page.ts";
import { openSite, type Site } from "./support/site.ts";

afterAll(stopServer);

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const MEDIA = [
  { type: "image", source: { type: "base64", mediaType: "image/png", data: PIXEL } },
  { type: "document", source: { type: "url", url: "https://files.example/report.pdf", mediaType: "application/pdf" } },
] as const;

/** Shows something; `isAsked`: once somebody allows it. */
const draw = (isAsked: boolean) =>
  defineTool({
    id: "own",
    description: "Draws",
    input: z.object({ of: z.string() }),
    ...(isAsked ? { approve: () => ask("Draw it?") } : undefined),
    execute: ({ of }) => reply({ of }, { media: MEDIA, ...(isAsked ? { metadata: { took: 1 } } : undefined) }),
  });

const FILES = [
  { type: "file", mediaType: "image/png", url: `data:image/png;base64,${PIXEL}` },
  { type: "file", mediaType: "application/pdf", url: "https://files.example/report.pdf" },
];
const PARTS = [
  { type: "text", text: '{"of":"sky"}' },
  { type: "image", source: { type: "data", value: PIXEL, mimeType: "image/png" } },
  { type: "document", source: { type: "url", value: "https://files.example/report.pdf", mimeType: "application/pdf" } },
];

async function chatHistory({ url }: Site): Promise<UIMessage[]> {
  const { messages }: { messages: UIMessage[] } = await (await fetch(`${url}/v1/ai-sdk/threads/t/messages`)).json();
  expect(await safeValidateUIMessages({ messages })).toMatchObject({ success: true });
  return messages;
}

async function resultsIn({ url }: Site, version: string): Promise<unknown[]> {
  const { messages } = await (await fetch(`${url}/v1/ag-ui/threads/t/messages${version}`)).json();
  return messages.filter(({ role }: { role: string }) => role === "tool").map(({ content }: { content: unknown }) => content);
}

describe.each(["sqlite", "postgres"] as const)("on %s", (engine) => {
  test("protocols 15, 68: what a tool shows is in its output, as the SDK has files; at once, after an approval, and in history", async () => {
    for (const isAsked of [false, true]) {
      await using site = await openSite(engine, [draw(isAsked)]);
      const page = openPage({ url: site.url, id: "t", sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses });
      await act(async () => {
        await page.at().sendMessage({ text: "own say" });
      });
      await page.settled(1);
      if (isAsked) {
        const id = approvalIdOf(page, "own");
        await act(async () => page.at().addToolApprovalResponse({ id, approved: true }));
        await page.settled(2);
      }
      const output = { data: { of: "sky" }, media: FILES, ...(isAsked ? { metadata: { took: 1 } } : undefined) };
      expect(callOf(page, "own")).toMatchObject({ state: "output-available", output });
      expect((await chatHistory(site))[1]?.parts).toEqual(page.messages[1]?.parts);
      page.unmount();
    }
  });

  test("protocols 32, 73: over AG-UI it is parts of the result, and text for the client of before; in streams, snapshots and history", async () => {
    for (const isAsked of [false, true]) {
      await using site = await openSite(engine, [draw(isAsked)]);
      const url = `${site.url}/v1/ag-ui/agents/assistant/runs`;
      const agent = new HttpAgent({ url, threadId: "t" });
      agent.addMessage({ id: "u1", role: "user", content: "own say" });
      await agent.runAgent({ runId: "r1" });
      const resume = agent.pendingInterrupts.map(({ id }) => ({
        interruptId: id,
        status: "resolved" as const,
        payload: { approved: true },
      }));
      expect(resume).toHaveLength(isAsked ? 1 : 0);
      if (isAsked) await agent.runAgent({ runId: "r2", resume });
      expect(agent.messages.find(({ role }) => role === "tool")).toMatchObject({ content: PARTS });
      expect(await resultsIn(site, "?protocolVersion=1.0")).toEqual([PARTS]);
      expect(await resultsIn(site, "")).toEqual([PARTS[0]?.text]);
      // It comes with a message more, and is given those that there are: in a form that it takes.
      const older = new OlderAgent({ url, threadId: "t" });
      older.setMessages([{ id: "u2", role: "user", content: isAsked ? "own" : "own pay" }]);
      await older.runAgent({ runId: "r3" });
      expect(older.messages.flatMap((message) => (message.role === "tool" ? [typeof message.content] : []))).not.toContain("object");
    }
  });

  test.each([
    ["data", () => reply({ of: 1 }), '{"of":1}'],
    ["data and metadata", () => reply({ of: 1 }, { metadata: { took: 1 } }), '{"of":1}'],
    ["text and metadata", () => reply("sky", { metadata: { took: 1 } }), "sky"],
    ["a text for the model", () => reply({ of: 1 }, { message: "The sky, once." }), "The sky, once."],
    ["all of it", () => reply({ of: 1 }, { message: "The sky, once.", metadata: { took: 1 }, media: MEDIA }), "The sky, once."],
    ["a failure", () => Promise.reject(new Error("no sky")), "no sky"],
  ])("protocols 32, 73: who saw a call has the same as who comes later, at once and after an approval: %s", async (_, execute, text) => {
    await using site = await openSite(engine, [
      defineTool({ id: "own", description: "Draws", input: z.object({ of: z.string() }), execute }),
      defineTool({ id: "pick_color", description: "Asks", input: z.object({ of: z.string() }), approve: () => ask("Now?"), execute }),
    ]);
    for (const Client of [HttpAgent, OlderAgent]) {
      const thread = Client === HttpAgent ? "t" : "older";
      const agent = new Client({ url: `${site.url}/v1/ag-ui/agents/assistant/runs`, threadId: thread });
      agent.addMessage({ id: `u-${thread}`, role: "user", content: "own pick say" });
      await agent.runAgent({ runId: `${thread}-1` });
      const [asked] = agent.pendingInterrupts;
      await agent.runAgent({
        runId: `${thread}-2`,
        resume: [{ interruptId: asked?.id ?? "", status: "resolved", payload: { approved: true } }],
      });
      const version = Client === HttpAgent ? "?protocolVersion=1.0" : "";
      const { messages } = await (await fetch(`${site.url}/v1/ag-ui/threads/${thread}/messages${version}`)).json();
      const results = (all: readonly object[]) =>
        JSON.parse(JSON.stringify(all)).flatMap(({ id, role, toolCallId, content }: Record<string, unknown>) =>
          role === "tool" ? [{ id, toolCallId, content }] : [],
        );
      expect(results(messages)).toHaveLength(2);
      expect(JSON.stringify(results(messages))).toContain(JSON.stringify(text).slice(1, -1));
      expect(results(agent.messages)).toEqual(results(messages));
      // What is on record, once more from its start, is the same.
      const replayed = await (await fetch(`${site.url}/v1/ag-ui/threads/${thread}/replay${version}`)).text();
      const frames = replayed.split("\n").flatMap((line) => (line.startsWith("data: ") ? [JSON.parse(line.slice(6))] : []));
      const told = frames.flatMap(({ type, toolCallId, content }) => (type === "TOOL_CALL_RESULT" ? [{ toolCallId, content }] : []));
      expect(told).toMatchObject(
        results(messages).map(({ toolCallId, content }: object & Record<string, unknown>) => ({ toolCallId, content })),
      );
    }
  });
});
