import { createServer as createNodeServer } from "node:http";
import type { AddressInfo } from "node:net";
import * as s from "@awaken/contract/schema";
import { createServer, defineProtocol, nodeListener } from "@awaken/server";
import express from "express";
import { afterAll, expect, test } from "vitest";
import { openShared, stopServer } from "../relay/support/nodes.ts";
import { openNode, quiet } from "../relay/support/speaker.ts";
import { ask, openServer, request } from "./support/client.ts";
import { held } from "./support/named.ts";

afterAll(stopServer);

/** A protocol as small as one can be: it shouts what is said, and knows when nothing is. */
const shout = defineProtocol(
  "shout",
  {
    shoutRun: {
      method: "POST",
      path: "/threads/:id/runs",
      gate: "invoke",
      summary: "Runs the assistant.",
      body: s.strictObject({ say: s.string() }),
      answer: { type: "frames", of: "words in capitals", headers: { "x-shout": "v1" } },
      errors: [],
    },
    shoutAgain: {
      method: "GET",
      path: "/threads/:id/stream",
      gate: "invoke",
      summary: "What is said now.",
      answer: { type: "frames", of: "words in capitals", canBeOver: true },
      errors: [],
    },
  },
  {
    async shoutRun(call) {
      const run = call.tenant.runtime.stream({ agent: "assistant", thread: call.params["id"] ?? "", input: call.body.say });
      const events = call.tenant.runtime.attach(run.id)[Symbol.asyncIterator]();
      return {
        events,
        runId: run.id,
        encoder: {
          encode: (event) => (event.type === "text-delta" ? `data: ${event.delta.toUpperCase()}\n\n` : ""),
          end: () => "data: [OVER]\n\n",
          fail: ({ code }) => `data: [${code}]\n\n`,
        },
      };
    },
    shoutAgain: async () => undefined,
  },
);

test("a protocol stands below its id with routes of its own, checked, listed and refused as all others are", async () => {
  await using shared = await openShared("memory");
  await using runtime = openNode(shared.stores[0]);
  const server = openServer({ runtime, protocols: [shout], admin: { token: "an-admin-token-of-some-length" } });
  const response = await server.fetch(request("POST", "/v1/shout/threads/t/runs", { body: { say: "say" } }));
  expect(response.headers.get("x-shout")).toBe("v1");
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  const text = await response.text();
  expect(text).toMatch(/^(data: [^a-z]+\n\n)+data: \[OVER\]\n\n$/);
  expect(await ask(server, "GET", "/v1/threads/t")).toMatchObject({ status: 200 });
  expect(await ask(server, "GET", "/v1/shout/threads/t/stream")).toMatchObject({ status: 204 });
  expect(await ask(server, "POST", "/v1/shout/threads/t/runs", { body: { say: 1 } })).toMatchObject({ body: { code: "invalid_body" } });
  expect(await ask(server, "DELETE", "/v1/shout/threads/t/runs")).toMatchObject({ status: 405 });
  const { body: document } = await ask(server, "GET", "/openapi.json");
  expect(document).toMatchObject({ paths: { "/v1/shout/threads/{id}/runs": { post: { operationId: "shoutRun" } }, "/v1/runs": {} } });
  const modules = await ask(server, "GET", "/v1/system/modules", { headers: { authorization: "Bearer an-admin-token-of-some-length" } });
  expect(modules.body["modules"]).toContain("shout");
  const closed = createServer(held({ runtime, protocols: [shout], log: quiet }));
  expect(await ask(closed, "POST", "/v1/shout/threads/t/runs", { body: { say: "say" } })).toMatchObject({ status: 401 });
  expect(() => openServer({ runtime, protocols: [shout, shout] })).toThrow("same name");
});

test("the document lists 204 for the streams that may have nothing to tell, and for no other", async () => {
  await using shared = await openShared("memory");
  await using runtime = openNode(shared.stores[0]);
  const { body } = await ask(openServer({ runtime }), "GET", "/openapi.json");
  const rows = Object.entries(Object(body["paths"])).flatMap(([path, methods]) =>
    Object.values(Object(methods)).map((row) => ({ path, replies: Object(row).responses })),
  );
  const streams = rows.filter(({ replies }) => replies["200"]?.content?.["text/event-stream"] !== undefined);
  expect(streams.filter(({ replies }) => replies["204"] !== undefined).map(({ path }) => path)).toEqual([
    "/v1/runs/{id}/events/stream",
    "/v1/ai-sdk/chat/{threadId}/stream",
    "/v1/ai-sdk/threads/{threadId}/stream",
  ]);
  expect(streams.map(({ path }) => path)).toContain("/v1/ag-ui/threads/{threadId}/stream");
});

test("a protocol alone in an application: its paths stand right below the one that it is given, and nothing else is there", async () => {
  await using shared = await openShared("memory");
  await using runtime = openNode(shared.stores[0]);
  const server = openServer({ runtime, only: shout, basePath: "/api/agent" });
  const response = await server.fetch(request("POST", "/api/agent/threads/t/runs", { body: { say: "say" } }));
  expect(await response.text()).toContain("[OVER]");
  for (const path of ["/v1/threads", "/api/agent/v1/threads", "/health", "/v1/shout/threads/t/stream", "/threads/t/stream"])
    expect(await ask(server, "GET", path), path).toMatchObject({ status: 404, body: { code: "route_not_found" } });
  expect(() => openServer({ runtime, only: shout, protocols: [] })).toThrow("only is for one");
  expect(() => openServer({ runtime, basePath: "/api/" })).toThrow("basePath must be like");
  const whole = openServer({ runtime, basePath: "/api" });
  expect(await ask(whole, "GET", "/api/v1/threads/t")).toMatchObject({ status: 200 });
});

test("in Express, below a path of the application, also when it parses bodies itself; and in a server of node:http", async () => {
  await using shared = await openShared("memory");
  await using runtime = openNode(shared.stores[0]);
  const app = express();
  app.use(express.json());
  app.get("/hello", (_, response) => void response.end("hello"));
  app.use("/agent", nodeListener(openServer({ runtime, only: shout })));
  app.use("/agents", nodeListener(openServer({ runtime })));
  const plain = createNodeServer(nodeListener(openServer({ runtime, only: shout, basePath: "/agent" })));
  for (const listener of [createNodeServer(app), plain]) {
    await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
    const { port } = listener.address() as AddressInfo;
    const ours = `http://127.0.0.1:${port}/agent/threads/t/runs`;
    const response = await fetch(ours, { method: "POST", headers: { "content-type": "application/json" }, body: '{"say":"say"}' });
    expect(response.headers.get("x-shout")).toBe("v1");
    expect(await response.text()).toMatch(/^(data: [^a-z]+\n\n)+data: \[OVER\]\n\n$/);
    expect((await fetch(`http://127.0.0.1:${port}/agent/threads/t/nothing`)).status).toBe(404);
    if (listener !== plain) {
      expect(await (await fetch(`http://127.0.0.1:${port}/hello`)).text()).toBe("hello");
      expect((await fetch(`http://127.0.0.1:${port}/agents/v1/threads/t`)).status).toBe(200);
    }
    listener.closeAllConnections();
    await new Promise((resolve) => listener.close(resolve));
  }
});
