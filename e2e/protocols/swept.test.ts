// @vitest-environment jsdom

import { HttpAgent } from "@ag-ui/client";
import { act } from "@testing-library/react";
import { lastAssistantMessageIsCompleteWithApprovalResponses, safeValidateUIMessages, type UIMessage } from "ai";
import { afterAll, describe, expect, test } from "vitest";
import { stopServer } from "../relay/support/nodes.ts";
import { approvalIdOf, callOf, openPage, type Page } from "./support/page.ts";
import { openSite, type Site } from "./support/site.ts";

afterAll(stopServer);

const DAY = 24 * 3_600_000;

async function historyOf({ url }: Site): Promise<UIMessage[]> {
  const { messages }: { messages: UIMessage[] } = await (await fetch(`${url}/v1/ai-sdk/threads/t/messages`)).json();
  expect(await safeValidateUIMessages({ messages })).toMatchObject({ success: true });
  return messages;
}

const agUiHistory = async ({ url }: Site) => (await fetch(`${url}/v1/ag-ui/threads/t/messages?protocolVersion=1.0`)).json();

/** What messages say: that a call was approved, and what was told beside, is gone with the events. */
const said = (messages: readonly UIMessage[]) =>
  messages.map(({ id, role, parts }) => ({
    id,
    role,
    parts: parts.flatMap((part) => {
      if (part.type.startsWith("data-")) return [];
      const { approval: _, ...plain } = { approval: undefined, ...part };
      return [plain];
    }),
  }));

async function sendText(page: Page, text: string, count: number): Promise<void> {
  await act(async () => {
    await page.at().sendMessage({ text });
  });
  await page.settled(count);
}

describe.each(["sqlite", "postgres"] as const)("on %s", (engine) => {
  test("protocols 68: history is whole when retention took the events, of all runs and of some", async () => {
    let now = Date.now();
    await using site = await openSite(engine, [], { clock: () => now });
    const page = openPage({ url: site.url, id: "t", sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses });
    await sendText(page, "look think", 1);
    await sendText(page, "pay say", 2);
    const id = approvalIdOf(page, "pay");
    now += DAY;
    await act(async () => page.at().addToolApprovalResponse({ id, approved: true }));
    await page.settled(3);
    now += DAY;
    await sendText(page, "look say", 4);
    const whole = said(page.messages);
    const inAgUi = await agUiHistory(site);
    expect(said(await historyOf(site))).toEqual(whole);
    // The first run, and the second as far as it waited; then the rest of that, then all.
    for (const kept of [1.5 * DAY, 0.5 * DAY, -1]) {
      expect(await site.store.sweep({ eventsMs: kept })).toMatchObject({ events: expect.toSatisfy((count: number) => count > 0) });
      expect(said(await historyOf(site))).toEqual(whole);
      expect(await agUiHistory(site)).toEqual(inAgUi);
    }
    // A page that is loaded then goes on.
    const later = openPage({ url: site.url, id: "t", messages: await historyOf(site) });
    await sendText(later, "say", 1);
    expect(said(await historyOf(site))).toEqual(said(later.messages));
    page.unmount();
    later.unmount();
  });

  test.each(["pay say", "delegate say"])("protocols 14, 20: what waits can be decided when its events are gone: %s", async (words) => {
    await using site = await openSite(engine);
    const first = openPage({ url: site.url, id: "t" });
    await sendText(first, words, 1);
    first.unmount();
    await site.store.sweep({ eventsMs: -1 });
    const messages = await historyOf(site);
    expect(said(messages)).toEqual(said(first.messages));
    const page = openPage({
      url: site.url,
      id: "t",
      messages,
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    });
    const tool = words.startsWith("pay") ? "pay" : "agent_run_clerk";
    expect(callOf(page, tool)).toMatchObject({ state: "approval-requested" });
    const id = approvalIdOf(page, tool);
    await act(async () => page.at().addToolApprovalResponse({ id, approved: true }));
    await page.settled(1);
    expect(page.posts).toBe(1);
    expect(page.messages).toHaveLength(2);
    expect(callOf(page, tool)).toMatchObject({ state: "output-available" });
    expect(page.text()).toBe("one two three four five.");
    expect(site.journal()).toEqual(["paid 120"]);
    expect(said(await historyOf(site))).toEqual(said(page.messages));
    page.unmount();
  });

  test("protocols 31: the same over AG-UI", async () => {
    await using site = await openSite(engine);
    const agent = new HttpAgent({ url: `${site.url}/v1/ag-ui/agents/assistant/runs`, threadId: "t" });
    agent.addMessage({ id: "u1", role: "user", content: "pay say" });
    await agent.runAgent({ runId: "r1" });
    await site.store.sweep({ eventsMs: -1 });
    const { interrupts } = await agUiHistory(site);
    expect(interrupts).toEqual(agent.pendingInterrupts);
    const resume = agent.pendingInterrupts.map(({ id }) => ({ interruptId: id, status: "resolved" as const, payload: { approved: true } }));
    await agent.runAgent({ runId: "r2", resume });
    expect(agent.pendingInterrupts).toEqual([]);
    expect(site.journal()).toEqual(["paid 120"]);
    expect(JSON.parse(JSON.stringify(agent.messages))).toEqual((await agUiHistory(site)).messages);
  });
});
