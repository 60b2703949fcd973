// @vitest-environment jsdom

import { defineTool } from "@awaken/runtime";
import { act, waitFor } from "@testing-library/react";
import {
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  safeValidateUIMessages,
  type UIMessage,
} from "ai";
import { afterAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { stopServer } from "../relay/support/nodes.ts";
import { approvalIdOf, callOf, openPage, type Page } from "./support/page.ts";
import { openSite, type Site } from "./support/site.ts";

afterAll(stopServer);

const TOOLS = [{ name: "pick_color", description: "Asks the person for a color", parameters: { type: "object" } }];

interface HistoryPage {
  readonly messages: UIMessage[];
  readonly total: number;
  readonly hasMore: boolean;
  readonly nextCursor?: string;
}

async function historyOf({ url }: Site, thread: string, query = ""): Promise<HistoryPage> {
  const response = await fetch(`${url}/v1/ai-sdk/threads/${thread}/messages${query}`);
  expect(response.status).toBe(200);
  const page: HistoryPage = await response.json();
  if (page.messages.length > 0) expect(await safeValidateUIMessages({ messages: page.messages })).toMatchObject({ success: true });
  return page;
}

/** Parts that the log has; what a page is told beside them is gone with it. */
const kept = (messages: readonly UIMessage[]) =>
  messages.map(({ id, role, parts }) => ({
    id,
    role,
    parts: parts.filter(({ type }) => !["data-state-snapshot", "data-activity-snapshot"].includes(type)),
  }));

async function sendText(page: Page, text: string, count: number): Promise<void> {
  await act(async () => {
    await page.at().sendMessage({ text });
  });
  await page.settled(count);
}

describe.each(["sqlite", "postgres"] as const)("on %s", (engine) => {
  test("protocols 10, 68: three turns are one thread, each message is stored once, and history equals what the page has", async () => {
    await using site = await openSite(engine);
    const page = openPage({ url: site.url, id: "t-three" });
    await sendText(page, "say", 1);
    await sendText(page, "look think", 2);
    await sendText(page, "say", 3);
    expect(page.posts).toBe(3);
    const { messages, total } = await historyOf(site, "t-three");
    expect(total).toBe(6);
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant", "user", "assistant"]);
    expect(kept(messages.filter(({ role }) => role === "assistant"))).toEqual(
      kept(page.messages.filter(({ role }) => role === "assistant")),
    );
    expect(messages.map(({ id }) => id)).toEqual(page.messages.map(({ id }) => id));
    const first = await historyOf(site, "t-three", "?limit=4");
    expect(first.hasMore).toBe(true);
    const rest = await historyOf(site, "t-three", `?limit=4&cursor=${first.nextCursor}`);
    expect([...first.messages, ...rest.messages]).toEqual(messages);
    expect((await historyOf(site, "t-three", "?order=desc")).messages).toEqual(messages.toReversed());
    page.unmount();
  });

  test("protocols 20, 62, 63: an approval is one request more, the tool runs once, and the message is one", async () => {
    await using site = await openSite(engine);
    const page = openPage({
      url: site.url,
      id: "t-pay",
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    });
    await sendText(page, "pay say", 1);
    expect(callOf(page, "pay")).toMatchObject({ state: "approval-requested", input: { amount: 120 }, providerExecuted: true });
    expect(kept((await historyOf(site, "t-pay")).messages.slice(1))).toEqual(kept(page.messages.slice(1)));
    expect(site.journal()).toEqual([]);
    const id = approvalIdOf(page, "pay");
    await act(async () => page.at().addToolApprovalResponse({ id, approved: true }));
    await page.settled(2);
    expect(page.posts).toBe(2);
    expect(site.journal()).toEqual(["paid 120"]);
    expect(callOf(page, "pay")).toMatchObject({ state: "output-available", output: { paid: 120 }, approval: { approved: true } });
    expect(page.text()).toBe("one two three four five.");
    const { messages } = await historyOf(site, "t-pay");
    expect(messages).toHaveLength(2);
    expect(kept(messages.slice(1))).toEqual(kept(page.messages.slice(1)));
    page.unmount();
  });

  test("protocols 20: history shows what each call waits for and what became of it, whatever words are in that", async () => {
    const own = defineTool({ id: "own", description: "Looks", input: z.object({ of: z.string() }), execute: () => "it is suspended" });
    await using site = await openSite(engine, [own]);
    const page = openPage({ url: site.url, id: "t-waits", body: { tools: TOOLS } });
    const states = async () =>
      (await historyOf(site, "t-waits")).messages.flatMap(({ parts }) =>
        parts.flatMap((part) => ("toolCallId" in part ? [`${part.type} ${part.state}`] : [])),
      );
    await sendText(page, "both own say", 1);
    expect(await states()).toEqual(["tool-pick_color input-available", "tool-pay approval-requested"]);
    const id = approvalIdOf(page, "pay");
    const toolCallId = String(callOf(page, "pick_color")["toolCallId"]);
    await act(async () => {
      await page.at().addToolOutput({ tool: "pick_color", toolCallId, output: "suspended" });
      await page.at().addToolApprovalResponse({ id, approved: true });
      await page.at().sendMessage();
    });
    await page.settled(2);
    expect(await states()).toEqual(["tool-pick_color output-available", "tool-pay output-available", "tool-own output-available"]);
    expect(kept((await historyOf(site, "t-waits")).messages.slice(1))).toEqual(kept(page.messages.slice(1)));
    expect(page.posts).toBe(2);
    page.unmount();
  });

  test("protocols 5, 65: an approval that is given over another protocol reaches a page that comes back, with its outcome", async () => {
    await using site = await openSite(engine);
    const page = openPage({ url: site.url, id: "t-other" });
    await sendText(page, "pay endless", 1);
    const id = approvalIdOf(page, "pay");
    const headers = { "content-type": "application/json" };
    const resume = [{ interruptId: id, status: "resolved", payload: { approved: true } }];
    const answered = await fetch(`${site.url}/v1/ag-ui/threads/t-other/runs`, {
      method: "POST",
      headers,
      body: JSON.stringify({ runId: "r", protocolVersion: "1.0", messages: [], resume }),
    });
    // One at a time: a page that comes back again drops the answer that it was about to read.
    let isBack = false;
    const comeBack = async () => {
      isBack = true;
      await page.at().resumeStream();
      isBack = false;
    };
    await waitFor(async () => {
      if (!isBack) await act(async () => void comeBack());
      expect(callOf(page, "pay")).toMatchObject({ state: "output-available", output: { paid: 120 }, approval: { id, approved: true } });
    });
    expect(await safeValidateUIMessages({ messages: page.messages })).toMatchObject({ success: true });
    expect(page.messages).toHaveLength(2);
    await fetch(`${site.url}/v1/ai-sdk/chat/t-other/stop`, { method: "POST", headers, body: "{}" });
    expect(await answered.text()).toContain('"cancelled"');
    await page.settled(1);
    expect(site.journal()).toEqual(["paid 120"]);
    page.unmount();
  });

  test("protocols 13: a denial reaches the model with its reason, and nothing runs", async () => {
    await using site = await openSite(engine);
    const page = openPage({
      url: site.url,
      id: "t-deny",
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    });
    await sendText(page, "pay tell", 1);
    const id = approvalIdOf(page, "pay");
    await act(async () => page.at().addToolApprovalResponse({ id, approved: false, reason: "too much" }));
    await page.settled(2);
    expect(page.posts).toBe(2);
    expect(callOf(page, "pay")).toMatchObject({ state: "output-denied", approval: { approved: false, reason: "too much" } });
    expect(page.text()).toContain("too much");
    expect(site.journal()).toEqual([]);
    expect(kept((await historyOf(site, "t-deny")).messages.slice(1))).toEqual(kept(page.messages.slice(1)));
    page.unmount();
  });

  test("protocols 63, 67: a tool of the page runs there once, and its result is one request more", async () => {
    await using site = await openSite(engine);
    const called: string[] = [];
    const page: Page = openPage({
      url: site.url,
      id: "t-pick",
      body: { tools: TOOLS },
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
      onToolCall({ toolCall }) {
        called.push(toolCall.toolName);
        void page.at().addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output: "blue" });
      },
    });
    await sendText(page, "look pick tell", 2);
    expect(called).toEqual(["pick_color"]);
    expect(page.posts).toBe(2);
    expect(page.text()).toContain("blue");
    expect(callOf(page, "pick_color")).toMatchObject({ state: "output-available", output: "blue" });
    const { messages } = await historyOf(site, "t-pick");
    expect(kept(messages.slice(1))).toEqual(kept(page.messages.slice(1)));
    page.unmount();
  });

  test("protocols 21, 66: edit and regenerate answer anew, and the view has each message once", async () => {
    await using site = await openSite(engine);
    const page = openPage({ url: site.url, id: "t-edit" });
    await sendText(page, "say", 1);
    await sendText(page, "think", 2);
    const [first] = page.messages;
    const answered = page.messages[1]?.id;
    await act(async () => {
      await page.at().sendMessage({ text: "look say", messageId: first?.id ?? "" });
    });
    await page.settled(3);
    expect(page.messages).toHaveLength(2);
    expect(page.messages[1]?.id).not.toBe(answered);
    expect(callOf(page, "look")).toMatchObject({ state: "output-available" });
    let { messages } = await historyOf(site, "t-edit");
    expect(messages.map(({ id }) => id)).toEqual(page.messages.map(({ id }) => id));
    expect(messages[0]?.parts).toEqual([{ type: "text", text: "look say" }]);
    const before = page.messages[1]?.id;
    await act(async () => {
      await page.at().regenerate();
    });
    await page.settled(4);
    expect(page.messages).toHaveLength(2);
    expect(page.messages[1]?.id).not.toBe(before);
    await sendText(page, "say", 5);
    ({ messages } = await historyOf(site, "t-edit"));
    expect(messages.map(({ id }) => id)).toEqual(page.messages.map(({ id }) => id));
    expect(kept(messages.filter(({ role }) => role === "assistant"))).toEqual(
      kept(page.messages.filter(({ role }) => role === "assistant")),
    );
    expect(page.posts).toBe(5);
    page.unmount();
  });

  test("protocols 18: a page that is loaded again in the middle has the whole message; after the end there is nothing to come back to", async () => {
    await using site = await openSite(engine);
    const first = openPage({
      url: site.url,
      id: "t-reload",
      resume: true,
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    });
    // A new page asks as well, and there is nothing.
    await waitFor(() => expect(first.requests).toEqual([{ method: "GET", path: "/v1/ai-sdk/chat/t-reload/stream", status: 204 }]));
    await sendText(first, "pay slow", 1);
    expect(first.errors).toEqual([]);
    const id = approvalIdOf(first, "pay");
    await act(async () => void first.at().addToolApprovalResponse({ id, approved: true }));
    await waitFor(() => expect(first.text()).toContain("one two"), { timeout: 120_000, interval: 10 });
    first.unmount();
    const { messages } = await historyOf(site, "t-reload");
    const second = openPage({ url: site.url, id: "t-reload", resume: true, messages });
    await waitFor(() => expect(second.text()).toBe("one two three four five."), { timeout: 120_000, interval: 10 });
    await waitFor(() => expect(second.at().status).toBe("ready"));
    expect(second.messages).toHaveLength(2);
    expect(kept((await historyOf(site, "t-reload")).messages)).toEqual(kept(second.messages).map((message) => message));
    expect(second.requests).toEqual([{ method: "GET", path: "/v1/ai-sdk/chat/t-reload/stream", status: 200 }]);
    const over = await fetch(`${site.url}/v1/ai-sdk/chat/t-reload/stream`);
    expect(over.status).toBe(204);
    expect(over.headers.get("x-vercel-ai-ui-message-stream")).toBe("v1");
    expect(site.journal()).toEqual(["paid 120"]);
    second.unmount();
  });

  test("protocols 3, 63: cancel is asked for; leaving the page is none, and a cancelled run is not sent again", async () => {
    await using site = await openSite(engine);
    const page = openPage({
      url: site.url,
      id: "t-stop",
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    });
    await act(async () => void page.at().sendMessage({ text: "slow" }));
    await waitFor(() => expect(page.text()).toContain("one"), { timeout: 120_000, interval: 10 });
    const stopped = await fetch(`${site.url}/v1/ai-sdk/chat/t-stop/stop`, {
      method: "POST",
      body: "{}",
      headers: { "content-type": "application/json" },
    });
    expect(stopped.status).toBe(202);
    await page.settled(1);
    expect(page.posts).toBe(1);
    expect(page.text()).not.toContain("five");
    page.unmount();
    const leaving = openPage({ url: site.url, id: "t-leave" });
    await act(async () => void leaving.at().sendMessage({ text: "slow" }));
    await waitFor(() => expect(leaving.text()).toContain("one"), { timeout: 120_000, interval: 10 });
    await act(async () => leaving.at().stop());
    leaving.unmount();
    await waitFor(async () => expect(JSON.stringify((await historyOf(site, "t-leave")).messages)).toContain("five."), {
      timeout: 120_000,
      interval: 50,
    });
  });

  test("a message on a thread that is busy interrupts what is said there", async () => {
    await using site = await openSite(engine);
    const first = openPage({ url: site.url, id: "t-busy" });
    await act(async () => void first.at().sendMessage({ text: "slow slow slow" }));
    await waitFor(() => expect(first.text()).toContain("one"), { timeout: 120_000, interval: 10 });
    const second = openPage({ url: site.url, id: "t-busy" });
    await sendText(second, "think", 1);
    expect(second.text()).toBe("So.");
    await waitFor(() => expect(first.at().status).toBe("ready"));
    expect((await historyOf(site, "t-busy")).messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    first.unmount();
    second.unmount();
  });

  test("protocols 16: a call that lasts has its input while it runs, then what it streams, then its output; also when nothing is claimed for it", async () => {
    const [speaking, ending] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const own = defineTool({
      id: "own",
      description: "Lasts",
      input: z.object({ of: z.string() }),
      pure: true,
      async execute({ of }, { output }) {
        await speaking.promise;
        output("half of it");
        await ending.promise;
        return { all: of };
      },
    });
    await using site = await openSite(engine, [own]);
    const page = openPage({ url: site.url, id: "t-lasts" });
    await act(async () => void page.at().sendMessage({ text: "own say" }));
    await waitFor(() => expect(callOf(page, "own")).toMatchObject({ state: "input-available", input: { of: "sky" } }));
    expect((await historyOf(site, "t-lasts")).messages[1]?.parts).toContainEqual(expect.objectContaining({ state: "input-available" }));
    speaking.resolve();
    await waitFor(() => expect(callOf(page, "own")).toMatchObject({ preliminary: true, output: "half of it", input: { of: "sky" } }));
    ending.resolve();
    await page.settled(1);
    expect(callOf(page, "own")).toMatchObject({ state: "output-available", output: { all: "sky" }, input: { of: "sky" } });
    expect(callOf(page, "own")).not.toHaveProperty("preliminary");
    expect(page.posts).toBe(1);
    expect(kept((await historyOf(site, "t-lasts")).messages.slice(1))).toEqual(kept(page.messages.slice(1)));
    page.unmount();
  });

  test("what a delegate asks is answered at the call that waits for it", async () => {
    await using site = await openSite(engine);
    const page = openPage({
      url: site.url,
      id: "t-child",
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    });
    await sendText(page, "delegate say", 1);
    expect(callOf(page, "agent_run_clerk")).toMatchObject({ state: "approval-requested" });
    expect((await historyOf(site, "t-child")).messages[1]?.parts).toContainEqual(expect.objectContaining({ state: "approval-requested" }));
    const id = approvalIdOf(page, "agent_run_clerk");
    await act(async () => page.at().addToolApprovalResponse({ id, approved: true }));
    await page.settled(2);
    expect(page.posts).toBe(2);
    expect(site.journal()).toEqual(["paid 120"]);
    expect(callOf(page, "agent_run_clerk")).toMatchObject({ state: "output-available" });
    expect(page.text()).toBe("one two three four five.");
    expect(await historyOf(site, "t-child")).toMatchObject({ total: 2 });
    page.unmount();
  });
});
