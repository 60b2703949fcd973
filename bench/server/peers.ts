import { simulateReadableStream, streamText } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { handwritten, WORDS } from "./frames.ts";

// What the same answer costs without us.

const frameOf = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;

/** All of it in one body: the wire alone. */
function oneBody(app: Hono): void {
  app.post("/chat", async (context) => {
    await context.req.json();
    const text = `${handwritten().map(frameOf).join("")}data: [DONE]\n\n`;
    return context.body(text, 200, { "content-type": "text/event-stream" });
  });
}

/** Each frame written when it is there. */
function frameByFrame(app: Hono): void {
  app.post("/chat", async (context) => {
    await context.req.json();
    return streamSSE(context, async (stream) => {
      for (const frame of handwritten()) await stream.writeSSE({ data: JSON.stringify(frame) });
      await stream.writeSSE({ data: "[DONE]" });
    });
  });
}

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 20, text: 20, reasoning: 0 },
};

const model = () =>
  new MockLanguageModelV4({
    doStream: async () => ({
      stream: simulateReadableStream({
        initialDelayInMs: null,
        chunkDelayInMs: null,
        chunks: [
          { type: "stream-start", warnings: [] },
          { type: "text-start", id: "t" },
          ...WORDS.map((delta) => ({ type: "text-delta", id: "t", delta }) as const),
          { type: "text-end", id: "t" },
          { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage },
        ],
      }),
    }),
  });

/** The AI SDK, which keeps nothing. */
function aiSdk(app: Hono): void {
  const instant = model();
  app.post("/chat", async (context) => {
    const { messages } = await context.req.json();
    return streamText({ model: instant, prompt: messages[0].content }).toUIMessageStreamResponse();
  });
}

export const PEERS = { body: oneBody, frames: frameByFrame, "ai-sdk": aiSdk } as const;
export type PeerName = keyof typeof PEERS;

export function openPeer(name: PeerName): Hono {
  const app = new Hono();
  PEERS[name](app);
  return app;
}
