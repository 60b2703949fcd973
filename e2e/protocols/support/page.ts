import { useChat } from "@ai-sdk/react";
import { configure, renderHook, waitFor } from "@testing-library/react";
import { type ChatInit, DefaultChatTransport, type UIMessage } from "ai";

// It ends only what hangs, also where the machine is slow.
configure({ asyncUtilTimeout: 120_000 });

export interface PageInit extends Pick<ChatInit<UIMessage>, "messages" | "sendAutomaticallyWhen" | "onToolCall"> {
  readonly resume?: boolean;
  readonly url: string;
  readonly id: string;
  readonly body?: object;
}

/** One request that a page made. */
export interface PageRequest {
  readonly method: string;
  readonly path: string;
  readonly status: number;
}

/** A connection that breaks is told in the words of a browser, by which the client knows it; those of Node are others. */
function asInBrowser({ body, status, headers }: Response): Response {
  const reader = body?.getReader();
  if (reader === undefined) return new Response(null, { status, headers });
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (cause) {
        controller.error(new TypeError("network error", { cause }));
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return new Response(stream, { status, headers });
}

/** A page with `useChat` on it, nothing of it changed, and its requests counted. */
export function openPage({ url, id, body, ...init }: PageInit) {
  const requests: PageRequest[] = [];
  const errors: Error[] = [];
  const transport = new DefaultChatTransport<UIMessage>({
    api: `${url}/v1/ai-sdk/chat`,
    body: { agentId: "assistant", ...body },
    async fetch(input, options) {
      const response = await fetch(input, options);
      requests.push({ method: options?.method ?? "GET", path: new URL(String(input)).pathname, status: response.status });
      return asInBrowser(response);
    },
  });
  const { result, unmount } = renderHook(() => useChat<UIMessage>({ id, transport, onError: (error) => errors.push(error), ...init }));
  const at = () => result.current;
  return {
    requests,
    errors,
    unmount,
    at,
    get messages(): UIMessage[] {
      return JSON.parse(JSON.stringify(at().messages));
    },
    get posts() {
      return requests.filter(({ method }) => method === "POST").length;
    },
    /** Until nothing is under way any more: no request is going, and none follows. */
    async settled(count: number): Promise<void> {
      await waitFor(
        () => {
          if (errors[0] !== undefined) throw errors[0];
          if (at().status !== "ready" || requests.filter(({ method }) => method === "POST").length < count)
            throw new Error(`it is ${at().status}`);
        },
        { timeout: 20_000, interval: 10 },
      );
      // What a page sends by itself it sends at once.
      await new Promise((resolve) => setTimeout(resolve, 50));
    },
    text(): string {
      return (this.messages.at(-1)?.parts ?? []).flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
    },
  };
}

export type Page = ReturnType<typeof openPage>;

/** A part of a call in the last message. */
export function callOf(page: Page, name: string): Record<string, unknown> {
  const part = page.messages.at(-1)?.parts.findLast(({ type }) => type === `tool-${name}`);
  if (part === undefined) throw new Error(`the last message has no call of ${name}: ${JSON.stringify(page.messages.at(-1))}`);
  return { ...part };
}

export const approvalIdOf = (page: Page, name: string): string => {
  const { approval } = callOf(page, name);
  if (typeof approval === "object" && approval !== null && "id" in approval) return String(approval.id);
  throw new Error("it asks for nothing");
};
