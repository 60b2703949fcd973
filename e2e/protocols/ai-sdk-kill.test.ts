// @vitest-environment jsdom

import { act, waitFor } from "@testing-library/react";
import { lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from "ai";
import { afterAll, describe, expect, test } from "vitest";
import { openKillable, stopDatabase } from "./support/killable.ts";
import { approvalIdOf, callOf, openPage } from "./support/page.ts";

afterAll(stopDatabase);

const kept = (messages: readonly UIMessage[]) =>
  messages.map(({ id, role, parts }) => ({ id, role, parts: parts.filter(({ type }) => !type.startsWith("data-")) }));

async function historyOf(url: string, thread: string): Promise<UIMessage[]> {
  const response = await fetch(`${url}/v1/ai-sdk/threads/${thread}/messages`);
  const { messages }: { messages: UIMessage[] } = await response.json();
  return messages;
}

const soon = { timeout: 30_000, interval: 50 };

describe.each(["sqlite", "postgres"] as const)("on %s", (engine) => {
  test("protocols 18: a server that is killed in the middle of an answer: the page comes back and has what is on record, and posted once", async () => {
    await using site = await openKillable(engine);
    const page = openPage({ url: site.url, id: "t-kill" });
    await act(async () => void page.at().sendMessage({ text: "look slow" }));
    await waitFor(() => expect(page.text()).toContain("one two"), soon);
    await site.kill();
    await waitFor(() => expect(page.at().status).toBe("error"), soon);
    await site.again();
    // As a page does that becomes visible again, until there is an end.
    await waitFor(async () => {
      await act(async () => page.at().resumeStream());
      expect(page.text()).toContain("five.");
      expect(page.at().status).toBe("ready");
    }, soon);
    const messages = await historyOf(site.url, "t-kill");
    expect(messages).toHaveLength(2);
    expect(kept(page.messages)).toEqual(kept(messages));
    expect(page.posts).toBe(1);
    page.unmount();
  });

  test("protocols 6, 14: a server that is killed while an approval waits: it is given to the next one, and the tool runs once", async () => {
    await using site = await openKillable(engine);
    const page = openPage({ url: site.url, id: "t-ask", sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses });
    await act(async () => {
      await page.at().sendMessage({ text: "pay slow" });
    });
    await page.settled(1);
    const id = approvalIdOf(page, "pay");
    await site.kill();
    await site.again();
    await act(async () => void page.at().addToolApprovalResponse({ id, approved: true }));
    await waitFor(() => expect(page.text()).toContain("one"), soon);
    expect(callOf(page, "pay")).toMatchObject({ state: "output-available", output: { paid: 120 } });
    // In the middle of what it says about it.
    await site.kill();
    await waitFor(() => expect(page.at().status).toBe("error"), soon);
    await site.again();
    await waitFor(async () => {
      await act(async () => page.at().resumeStream());
      expect(page.text()).toContain("five.");
      expect(page.at().status).toBe("ready");
    }, soon);
    expect(site.journal()).toEqual(["paid 120"]);
    expect(kept(page.messages)).toEqual(kept(await historyOf(site.url, "t-ask")));
    expect(page.posts).toBe(2);
    page.unmount();
  });
});
