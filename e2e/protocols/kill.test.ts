// @vitest-environment jsdom

import { HttpAgent, runHttpRequest, transformHttpEventStream } from "@ag-ui/client";
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

/** A connection that is cut ends: the client leaves a rejection behind that nobody can catch when its reader fails. */
function endingWhenCut({ body, status, headers }: Response): Response {
  const reader = body?.getReader();
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await reader?.read().catch(() => undefined);
      if (next?.value === undefined) controller.close();
      else controller.enqueue(next.value);
    },
    cancel: () => reader?.cancel().catch(() => {}),
  });
  return new Response(stream, { status, headers });
}

/** The official client, with the one method that it leaves to whoever has a server to come back to. */
class ReturningAgent extends HttpAgent {
  readonly #stream: string;
  posts = 0;

  constructor(url: string, thread: string) {
    const counted = async (input: string, init: RequestInit) => {
      this.posts += 1;
      return endingWhenCut(await fetch(input, init));
    };
    super({ url: `${url}/v1/ag-ui/agents/assistant/runs`, threadId: thread, fetch: counted });
    this.#stream = `${url}/v1/ag-ui/threads/${thread}/stream?protocolVersion=1.0`;
  }

  protected override connect(): ReturnType<HttpAgent["run"]> {
    return transformHttpEventStream(runHttpRequest(async () => endingWhenCut(await fetch(this.#stream))));
  }

  said(): unknown {
    return this.messages.findLast(({ role }) => role === "assistant")?.content;
  }
}

const soon = { timeout: 120_000, interval: 50 };

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

  test("protocols 6, 14: the AG-UI client: killed while an approval waits and in the middle of the answer, it has what is on record, and the tool ran once", async () => {
    await using site = await openKillable(engine);
    const agent = new ReturningAgent(site.url, "t-ag-ui");
    agent.addMessage({ id: "u1", role: "user", content: "pay slow" });
    await agent.runAgent({ runId: "r1" });
    expect(agent.pendingInterrupts).toHaveLength(1);
    await site.kill();
    await site.again();
    // A page that is loaded again has nothing of before.
    const page = new ReturningAgent(site.url, "t-ag-ui");
    await page.connectAgent();
    const [asked] = page.pendingInterrupts;
    expect(asked).toEqual(agent.pendingInterrupts[0]);
    const resume = [{ interruptId: asked?.id ?? "", status: "resolved" as const, payload: { approved: true } }];
    const lost = page.runAgent({ runId: "r2", resume }).catch(() => {});
    await waitFor(() => expect(page.said()).toContain("one two"), soon);
    await site.kill();
    await lost;
    await site.again();
    // It did not hear that its answer was taken, and wants it named; it is not sent again.
    await page.connectAgent({ resume });
    expect(page.said()).toBe("one two three four five.");
    expect(page.pendingInterrupts).toEqual([]);
    const history = await (await fetch(`${site.url}/v1/ag-ui/threads/t-ag-ui/messages`)).json();
    expect(JSON.parse(JSON.stringify(page.messages))).toEqual(history.messages);
    expect(site.journal()).toEqual(["paid 120"]);
    expect(page.posts + agent.posts).toBe(2);
  });
});
