import { runId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { defineTool } from "@awaken/runtime";
import { expect } from "vitest";
import * as z from "zod";
import { openNode } from "../../relay/support/speaker.ts";
import { type Frame, openServer, request } from "./client.ts";

type Headers = Readonly<Record<string, string>>;

/** A request to the assistant on the thread `t`, whose turns are spelled in the words. */
export const hello = (words: string, more: object = {}) => ({
  agentId: "assistant",
  threadId: "t",
  messages: [{ role: "user", content: words }],
  ...more,
});

export const stream = (server: ReturnType<typeof openServer>, body: object, headers: Headers = {}) =>
  server.fetch(request("POST", "/v1/runs", { body, headers }));

export const endOf = (frames: readonly Frame[]) => frames.at(-1)?.data;

/** A run at work in a tool, on a node that has a server of its own. */
export async function busy(store: QueueStore, more: object = {}, headers: Headers = {}) {
  const began = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const effect = defineTool({
    id: "effect",
    description: "Lasts until it is told to stop",
    input: z.object({ n: z.number() }),
    idempotent: true,
    async execute(_, { signal }) {
      began.resolve();
      await Promise.race([end.promise, new Promise((resolve) => signal.addEventListener("abort", resolve))]);
      return "slept";
    },
  });
  const runtime = openNode(store, { workers: false, tools: [effect] });
  const server = openServer({ runtime });
  const response = await stream(server, hello("effect say", more), headers);
  await began.promise;
  return { runtime, response, release: end.resolve, runId: runId(response.headers.get("x-run-id") ?? expect.fail()) };
}
