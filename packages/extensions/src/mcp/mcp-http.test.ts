import { spawn } from "node:child_process";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { isJsonObject, type JsonObject } from "@awaken/contract";
import { fakeClock, text, toolCall, toolCalls } from "@awaken/runtime/testing";
import { describe, expect, test, vi } from "vitest";
import { limitBody } from "./limited-body.ts";
import { atEnd, npmServer, open } from "./mcp.test-support.ts";

const DONE = text("done");

interface Asked {
  readonly method: string;
  readonly message: JsonObject;
  readonly session: string | undefined;
  readonly response: ServerResponse;
}

/** An endpoint of the older protocol whose answers to calls a test writes. */
async function endpoint(onCall: (asked: Asked, sessions: Set<string>) => void) {
  const log: { readonly method: string; readonly name: string; readonly session: string | undefined }[] = [];
  const sessions = new Set<string>();
  let made = 0;
  const json = (response: ServerResponse, body: JsonObject, headers: Record<string, string> = {}) =>
    response.writeHead(200, { "content-type": "application/json", ...headers }).end(JSON.stringify({ jsonrpc: "2.0", ...body }));
  const handle = (request: IncomingMessage, response: ServerResponse, message: JsonObject) => {
    const header = request.headers["mcp-session-id"];
    const session = typeof header === "string" ? header : undefined;
    const method = String(message["method"] ?? request.method);
    const params = isJsonObject(message["params"]) ? message["params"] : {};
    log.push({ method, name: String(params["name"] ?? ""), session });
    if (method === "server/discover") return void response.writeHead(404).end();
    if (method === "initialize") {
      made += 1;
      const id = `s${made}`;
      sessions.add(id);
      const result = { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "odd", version: "1" } };
      return void json(response, { id: message["id"] ?? null, result }, { "mcp-session-id": id });
    }
    if (method === "DELETE") return void response.writeHead(200).end();
    if (session === undefined || !sessions.has(session)) return void response.writeHead(404).end("no such session");
    if (method === "GET" && request.headers["last-event-id"] === undefined) return void response.writeHead(405).end();
    if (method === "tools/list") {
      const inputSchema = { type: "object" };
      return void json(response, { id: message["id"] ?? null, result: { tools: [{ name: "act", inputSchema }] } });
    }
    if (message["id"] === undefined && method !== "GET") return void response.writeHead(202).end();
    onCall({ method, message, session, response }, sessions);
  };
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on("end", () => {
      const message: unknown = body === "" ? {} : JSON.parse(body);
      handle(request, response, isJsonObject(message) ? message : {});
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  atEnd(
    () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  );
  const { port } = server.address() as AddressInfo;
  const calls = () => log.filter(({ method }) => method === "tools/call");
  return { url: `http://127.0.0.1:${port}/mcp`, log, calls, sessions };
}

const answered = ({ message, response }: Asked, words: string) =>
  response
    .writeHead(200, { "content-type": "application/json" })
    .end(JSON.stringify({ jsonrpc: "2.0", id: message["id"], result: { content: [{ type: "text", text: words }] } }));

const events = (response: ServerResponse) => response.writeHead(200, { "content-type": "text/event-stream" });

describe("extensions 45: a 404 for a session that expired", () => {
  test("makes a new session and sends the call once more when the server had not accepted it", async () => {
    const { url, calls, sessions } = await endpoint((asked) => void answered(asked, "acted"));
    const { runtime, plugin, run } = open({ servers: { s: { url } } }, [toolCall("mcp__s__act", {}), DONE]);
    await runtime.initialize();
    // The server restarts and knows no session.
    sessions.delete("s1");
    expect((await run()).map(({ data }) => data)).toEqual(["acted"]);
    expect(calls().map(({ session }) => session)).toEqual(["s1", "s2"]);
    expect(plugin.servers.status()[0]).toMatchObject({ state: "connected", sessionGeneration: 2, transportReconnectCount: 1 });
  });

  test("asks twice at most", async () => {
    const asks: Asked[] = [];
    const { url, log } = await endpoint((asked, sessions) => {
      asks.push(asked);
      sessions.clear();
      asked.response.writeHead(404).end("gone");
    });
    const { run } = open({ servers: { s: { url } } }, [toolCall("mcp__s__act", {}), text("I see")]);
    const ends = await run();
    expect(ends).toMatchObject([{ outcome: "failed", code: "execution_failed", message: expect.stringContaining("expired again") }]);
    expect(asks).toHaveLength(2);
    expect(log.filter(({ method }) => method === "initialize")).toHaveLength(2);
  });

  test("is an error when the server had accepted the call, which is never sent twice", async () => {
    const { url, calls } = await endpoint((asked, sessions) => {
      // Accepted: a stream with an id to come back to. Then it ends, and the session is gone.
      events(asked.response).write("id: 1\nretry: 1\ndata: \n\n");
      sessions.clear();
      asked.response.end();
    });
    const { run, plugin } = open({ servers: { s: { url } } }, [toolCall("mcp__s__act", {}), text("I see")]);
    const ends = await run();
    expect(ends).toMatchObject([
      { outcome: "failed", code: "execution_failed", message: expect.stringContaining("session expired after request was accepted") },
    ]);
    expect(calls()).toHaveLength(1);
    expect(plugin.servers.status()[0]?.state).toBe("reconnecting");
  });
});

describe("a server over HTTP that is bad", () => {
  test("and ends its answer in the middle fails the call at once", async () => {
    const { url, calls } = await endpoint((asked) => void events(asked.response).end('data: {"jsonrpc":"2.0","method":"x"}\n\n'));
    const ends = await open({ servers: { s: { url } } }, [toolCall("mcp__s__act", {}), text("I see")], { clock: fakeClock(0) }).run();
    expect(ends).toMatchObject([{ outcome: "failed", message: expect.stringContaining("ended its answer before it was complete") }]);
    expect(calls()).toHaveLength(1);
  });

  test("and breaks the connection fails the call at once", async () => {
    const { url, calls } = await endpoint((asked) => {
      events(asked.response).write(": wait\n\n");
      setTimeout(() => asked.response.destroy(), 20);
    });
    const ends = await open({ servers: { s: { url } } }, [toolCall("mcp__s__act", {}), text("I see")], { clock: fakeClock(0) }).run();
    expect(ends).toMatchObject([{ outcome: "failed", code: "execution_failed" }]);
    expect(calls()).toHaveLength(1);
  });

  test("and floods is cut off, in events and in JSON", async () => {
    const { url } = await endpoint((asked) => {
      const isEvents = JSON.stringify(asked.message).includes("events");
      asked.response.writeHead(200, { "content-type": isEvents ? "text/event-stream" : "application/json" });
      asked.response.write(isEvents ? "data: " : '{"jsonrpc":"2.0","result":"');
      const more = () => {
        while (!asked.response.destroyed && asked.response.write("x".repeat(1024 * 1024)));
        if (!asked.response.destroyed) asked.response.once("drain", more);
      };
      more();
    });
    const turns = [toolCall("mcp__s__act", { as: "events" }), toolCall("mcp__s__act", { as: "json" }), text("I see")];
    const ends = await open({ servers: { s: { url } } }, turns).run();
    expect(ends.map(({ outcome }) => outcome)).toEqual(["failed", "failed"]);
  });

  test("and answers with broken JSON fails the call at once", async () => {
    const { url } = await endpoint((asked) => void asked.response.writeHead(200, { "content-type": "application/json" }).end("{{{"));
    const ends = await open({ servers: { s: { url } } }, [toolCall("mcp__s__act", {}), text("I see")], { clock: fakeClock(0) }).run();
    expect(ends).toMatchObject([{ outcome: "failed", code: "execution_failed" }]);
  });

  test("and hangs costs the call its time; headers reach the server, and no log or status", async () => {
    const clock = fakeClock(0);
    const seen: (string | undefined)[] = [];
    const { url, calls } = await endpoint((asked) => void seen.push(asked.response.req.headers.authorization));
    const { run, plugin, log } = open(
      { servers: { s: { url, headers: { authorization: "Bearer sk-1" }, timeoutSecs: 7 } } },
      [toolCall("mcp__s__act", {}), text("I see")],
      { clock },
    );
    const running = run();
    await vi.waitFor(() => expect(calls()).toHaveLength(1), 10_000);
    await clock.advance(7_000);
    expect(await running).toMatchObject([{ code: "timeout", message: expect.stringContaining("no answer within 7000 ms") }]);
    expect(seen).toEqual(["Bearer sk-1"]);
    expect(JSON.stringify([log, plugin.servers.status()])).not.toContain("sk-1");
  });
});

test("everything over HTTP: calls in parallel, its session is deleted at the end; killed, its calls fail and the agent goes on", async () => {
  const port = 20_000 + (process.pid % 20_000);
  const [script] = npmServer("everything").args ?? [];
  const child = spawn(process.execPath, [String(script), "streamableHttp"], { env: { ...process.env, PORT: String(port) }, stdio: "pipe" });
  atEnd(() => void child.kill("SIGKILL"));
  await new Promise<void>((resolve) => child.stderr.on("data", (chunk: Buffer) => chunk.includes("listening") && resolve()));
  const turns = [
    toolCalls([
      { name: "mcp__all__echo", input: { message: "one" } },
      { name: "mcp__all__echo", input: { message: "two" } },
      { name: "mcp__all__trigger_long_running_operation", input: { duration: 0.2, steps: 2 } },
    ]),
    DONE,
    toolCall("mcp__all__trigger_long_running_operation", { duration: 60, steps: 60 }),
    text("I see"),
  ];
  const { run, runtime, plugin } = open({ servers: { all: { url: `http://127.0.0.1:${port}/mcp` } } }, turns);
  expect((await run()).map(({ data }) => data)).toEqual(["Echo: one", "Echo: two", expect.stringContaining("completed")]);
  expect(plugin.servers.status()[0]).toMatchObject({ state: "connected", protocolVersion: "2025-11-25", transport: "http" });
  const stream = runtime.stream({ agent: "assistant", thread: "t2", input: "go" });
  for await (const event of stream) if (event.type === "activity-snapshot") child.kill("SIGKILL");
  expect(await stream.result).toMatchObject({ status: "done", text: "I see" });
});

test("the newer protocol: no session, tools and answers of a person inside the call, over HTTP and stdio", async () => {
  const script = join(import.meta.dirname, "test-modern-server.ts");
  const child = spawn(process.execPath, [script, "http"], { stdio: "pipe" });
  atEnd(() => void child.kill("SIGKILL"));
  const port = await new Promise<string>((resolve) => child.stdout.once("data", (chunk: Buffer) => resolve(chunk.toString().trim())));
  const servers = {
    web: { url: `http://127.0.0.1:${port}/mcp` },
    pipe: { command: process.execPath, args: [script, "stdio"] },
  };
  const { run, plugin } = open({ servers, elicitation: async () => ({ action: "accept", content: { color: "red" } }) }, [
    toolCalls([
      { name: "mcp__web__add", input: { a: 1, b: 2 } },
      { name: "mcp__pipe__add", input: { a: 3, b: 4 } },
      { name: "mcp__web__ask_color", input: {} },
      { name: "mcp__pipe__ask_color", input: {} },
    ]),
    DONE,
  ]);
  expect((await run()).map(({ name, data }) => `${name} ${data}`).sort()).toEqual([
    "mcp__pipe__add 7",
    "mcp__pipe__ask_color red",
    "mcp__web__add 3",
    "mcp__web__ask_color red",
  ]);
  expect(plugin.servers.status().map(({ protocolVersion }) => protocolVersion)).toEqual(["2026-07-28", "2026-07-28"]);
});

test("the limit is that of one message: a stream may be as long as it likes, also one that is cut anywhere", async () => {
  const event = `data: ${"x".repeat(90)}\r\n\r\n`;
  const bytes = new TextEncoder().encode(event.repeat(50));
  for (const size of [1, 7, 100, 101, 5_000]) {
    const body = new ReadableStream({
      start(controller) {
        for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
        controller.close();
      },
    });
    const headers = { "content-type": "text/event-stream" };
    expect((await limitBody(new Response(body, { headers }), 100).text()).length).toBe(bytes.length);
  }
  const long = new Response(bytes, { headers: { "content-type": "application/json" } });
  await expect(limitBody(long, 100).text()).rejects.toThrow("more than 100 bytes");
});
