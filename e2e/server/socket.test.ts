import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type RunningServer, serve } from "@awaken/server";
import { describe, expect, test } from "vitest";
import { openShared } from "../relay/support/nodes.ts";
import { openNode, quiet } from "../relay/support/speaker.ts";
import { framesOf, readFrames, textOf } from "./support/client.ts";
import { held } from "./support/named.ts";

// What the server writes to sockets itself, without the streams of the web.

const ORIGIN = "https://app.example.com";

async function openSocket({ port }: RunningServer, ...lines: readonly string[]): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.on("error", () => {});
  socket.write(`${lines.join("\r\n")}\r\nhost: localhost\r\n\r\n`);
  return socket;
}

const submit = (server: RunningServer, thread: string, content: string): Promise<Response> =>
  fetch(`${server.url}/v1/runs`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: ORIGIN },
    body: JSON.stringify({ agentId: "assistant", threadId: thread, messages: [{ role: "user", content }] }),
  });

describe("over a socket", () => {
  test("a stream has its head at once, also when nothing happens, and the headers that pages of other origins need", async () => {
    await using shared = await openShared("memory");
    await using server = await serve(held({ runtime: openNode(shared.stores[0]), port: 0, log: quiet, origins: [ORIGIN] }));
    const first = await submit(server, "t", "say");
    expect(first.headers.get("access-control-allow-origin")).toBe(ORIGIN);
    expect(first.headers.get("x-thread-id")).toBe("t");
    expect(textOf(await readFrames(first))).toBe("one two three äöü 😀 five.");
    const leave = new AbortController();
    const silent = await fetch(`${server.url}/v1/threads/t/events/stream?from=now`, { signal: leave.signal });
    expect(silent.headers.get("content-type")).toContain("text/event-stream");
    const reading = readFrames(silent, ({ data }) => data.type === "run-end");
    await readFrames(await submit(server, "t", "say"));
    expect(textOf(await reading)).toBe("one two three äöü 😀 five.");
    leave.abort();
  });

  test("an answer that is whole says how long it is, in bytes, also one that is empty and one that is a refusal", async () => {
    await using shared = await openShared("memory");
    await using server = await serve(held({ runtime: openNode(shared.stores[0]), port: 0, log: quiet, origins: [ORIGIN] }));
    const ask = async (path: string, init: RequestInit = {}) => {
      const { status, headers, ...response } = await fetch(`${server.url}${path}`, init).then(async (answer) => ({
        ...{ status: answer.status, headers: answer.headers },
        bytes: (await answer.arrayBuffer()).byteLength,
      }));
      return { status, says: headers.get("content-length"), is: String(response.bytes), chunks: headers.get("transfer-encoding") };
    };
    const body = JSON.stringify({ id: "t", title: "äöü 😀" });
    const whole = (status: number) => expect.objectContaining({ status, chunks: null });
    for (const [status, path, init] of [
      [201, "/v1/threads", { method: "POST", body, headers: { "content-type": "application/json" } }],
      [200, "/v1/threads/t", {}],
      [200, "/health/live", {}],
      [404, "/v1/runs/%zz", {}],
      [404, "/v1/nowhere", {}],
    ] as const) {
      const told = await ask(path, init);
      expect(told, path).toEqual(whole(status));
      expect(told.says, path).toBe(told.is);
    }
    expect(await ask("/v1/threads/t", { method: "DELETE" })).toEqual({ status: 204, says: null, is: "0", chunks: null });
  });

  test("whoever asks for the head of a stream alone is told that there is none, and holds nothing open", async () => {
    await using shared = await openShared("memory");
    await using server = await serve(held({ runtime: openNode(shared.stores[0]), port: 0, log: quiet, metrics: true, origins: [ORIGIN] }));
    await readFrames(await submit(server, "t", "say"));
    expect((await fetch(`${server.url}/v1/threads/t/events/stream`, { method: "HEAD" })).status).toBe(405);
    const json = await fetch(`${server.url}/v1/threads/t`, { method: "HEAD" });
    expect([json.status, await json.text()]).toEqual([200, ""]);
    expect(await (await fetch(`${server.url}/metrics`)).text()).toContain("awaken_sse_connections 0");
  });

  test("server-and-durability 60: readers who do not read hold up neither the run nor the others; those who leave are forgotten", async () => {
    await using shared = await openShared("memory");
    await using server = await serve(held({ runtime: openNode(shared.stores[0]), port: 0, log: quiet, metrics: true, origins: [ORIGIN] }));
    const open = async () => (await (await fetch(`${server.url}/metrics`)).text()).match(/^awaken_sse_connections (\d+)/m)?.[1];
    await readFrames(await submit(server, "t", "say"));
    const asleep = await Promise.all(
      Array.from({ length: 20 }, async () => (await openSocket(server, "GET /v1/threads/t/events/stream HTTP/1.1")).pause()),
    );
    await expect.poll(open).toBe("20");
    for (let round = 0; round < 3; round++) {
      const said = framesOf(await submit(server, "t", `say ${"x".repeat(300_000)}`));
      expect((await Array.fromAsync(said)).at(-1)?.data.type).toBe("run-end");
    }
    for (const socket of asleep) socket.destroy();
    await expect.poll(open).toBe("0");
  });

  test("bodies that say their length and do not come, break off, or are no UTF-8 change nothing", async () => {
    await using shared = await openShared("memory");
    const [store] = shared.stores;
    await using server = await serve(held({ runtime: openNode(store), port: 0, log: quiet, limits: { bodyMs: 50 } }));
    const post = (length: number) =>
      openSocket(server, "POST /v1/threads HTTP/1.1", "content-type: application/json", `content-length: ${length}`);
    const slow = await post(100);
    slow.write('{"title":');
    const [answer] = await once(slow, "data");
    expect(String(answer)).toMatch(/^HTTP\/1\.1 408/);
    const broken = await post(100);
    broken.destroy();
    const bytes = await post(4);
    bytes.write(new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]));
    const [refused] = await once(bytes, "data");
    expect(String(refused)).toMatch(/^HTTP\/1\.1 400/);
    const huge = await post(50_000_000);
    const [tooLarge] = await once(huge, "data");
    expect(String(tooLarge)).toMatch(/^HTTP\/1\.1 413/);
    expect(await store.threads.count({})).toBe(0);
    for (const socket of [slow, bytes, huge]) socket.destroy();
  });
});
