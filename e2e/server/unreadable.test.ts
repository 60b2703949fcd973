import { connect } from "node:net";
import { type RequestLine, type RunningServer, serve } from "@awaken/server";
import { expect, test } from "vitest";
import { openShared } from "../relay/support/nodes.ts";
import { openNode } from "../relay/support/speaker.ts";
import { held } from "./support/named.ts";

/** All that is answered to these bytes until the server ends the connection. */
const send = ({ port }: RunningServer, text: string, isCut = false): Promise<string> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => (isCut ? socket.end(text) : socket.write(text)));
    let read = "";
    socket.on("data", (chunk) => {
      read += String(chunk);
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(read));
  });

const HOST = "host: localhost\r\n";
const POST = `POST /v1/threads HTTP/1.1\r\n${HOST}content-type: application/json\r\n`;
const create = (id: string) => {
  const body = JSON.stringify({ id });
  return `${POST}content-length: ${body.length}\r\n\r\n${body}`;
};
const REFUSED = /^HTTP\/1\.1 400 [^{]*\{[^{}]*"code":"invalid_request"\}$/;

test("a request that is cut off, or that nothing can be made of, is refused with a code, is no failure of the server, and changes nothing", async () => {
  await using shared = await openShared("memory");
  const failures: string[] = [];
  const lines: RequestLine[] = [];
  const log = { warn() {}, error: (message: string) => void failures.push(message) };
  const onRequest = (line: RequestLine) => void lines.push(line);
  await using server = await serve(held({ runtime: openNode(shared.stores[0]), port: 0, log, onRequest }));
  const bad = [
    "NONSENSE\r\n\r\n",
    `${POST}transfer-encoding: chunked\r\n\r\n5\r\n{"id"\r\nZZ\r\n`,
    `${POST}content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    `${POST}content-length: 3\r\ncontent-length: 4\r\n\r\nabcd`,
    "GET /v1/threads HTTP/1.1\r\nconnection: close\r\n\r\n",
    "GET /v1/threads HTTP/1.1\r\nhost: a b/c\r\nconnection: close\r\n\r\n",
    `OPTIONS * HTTP/1.1\r\n${HOST}connection: close\r\n\r\n`,
    `CONNECT localhost:1 HTTP/1.1\r\n${HOST}\r\n`,
  ];
  for (const text of bad) expect(await send(server, text), text).toMatch(REFUSED);
  for (const text of [
    `${POST}content-length: 99\r\n\r\n{"id":"cut"}`,
    `${POST}transfer-encoding: chunked\r\n\r\n5\r\n{"id"\r\n`,
    "POST /v1/thr",
  ])
    expect(await send(server, text, true), text).toMatch(REFUSED);
  // Those whose head could be read came as far as their route.
  const line = { route: "/v1/threads", status: 400, code: "invalid_request" };
  await expect.poll(() => lines).toEqual(Array(3).fill(expect.objectContaining(line)));
  expect(failures).toEqual([]);
  expect(await shared.stores[0].threads.count({})).toBe(0);
});

test("what stands before a request that cannot be read is answered first, each in its place", async () => {
  await using shared = await openShared("memory");
  await using server = await serve(held({ runtime: openNode(shared.stores[0]), port: 0 }));
  const read = await send(server, `${create("a")}${create("b")}NONSENSE\r\n\r\n`);
  expect(read.match(/HTTP\/1\.1 \d+|"id":"\w"|"code":"\w+"/g)).toEqual([
    "HTTP/1.1 201",
    '"id":"a"',
    "HTTP/1.1 201",
    '"id":"b"',
    "HTTP/1.1 400",
    '"code":"invalid_request"',
  ]);
});

test("an expectation that nobody knows is passed over", async () => {
  await using shared = await openShared("memory");
  await using server = await serve(held({ runtime: openNode(shared.stores[0]), port: 0 }));
  expect(await send(server, create("a").replace(HOST, `${HOST}connection: close\r\nexpect: wonders\r\n`))).toMatch(/^HTTP\/1\.1 201 /);
});

test("whoever asks first whether he may send his body is told so when it is wanted, and when it is not, why", async () => {
  await using shared = await openShared("memory");
  await using server = await serve(held({ runtime: openNode(shared.stores[0]), port: 0 }));
  const asking = (length: number, more = "") =>
    `${POST}connection: close\r\nexpect: 100-continue\r\n${more}content-length: ${length}\r\n\r\n`;
  expect(await send(server, `${asking(2)}{}`)).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 /);
  expect(await send(server, asking(50_000_000))).toMatch(/^HTTP\/1\.1 413 /);
  expect(await send(server, asking(20, "origin: https://evil.example.com\r\n"))).toMatch(/^HTTP\/1\.1 403 /);
  expect(await send(server, asking(20, "content-encoding: gzip\r\n"))).toMatch(/^HTTP\/1\.1 415 .*"code":"unsupported_media_type"/s);
});

test("a request of HTTP/1.0 need not say whom it asks: who looks after servers is answered, and nobody is taken for this machine", async () => {
  await using shared = await openShared("memory");
  await using server = await serve(held({ runtime: openNode(shared.stores[0]), port: 0 }));
  const get = (path: string, head = "") => send(server, `GET ${path} HTTP/1.0\r\n${head}\r\n`);
  expect(await get("/health/live")).toMatch(/^HTTP\/1\.1 200 /);
  expect(await get("/v1/threads")).toMatch(/^HTTP\/1\.1 401 /);
  // What a proxy says of others is not believed.
  const forwarded = "x-forwarded-host: localhost\r\nx-forwarded-for: 127.0.0.1\r\nforwarded: for=127.0.0.1;host=localhost\r\n";
  expect(await get("/v1/threads", forwarded)).toMatch(/^HTTP\/1\.1 401 /);
  expect(await get("/v1/threads", `host: evil.example.com\r\n${forwarded}`)).toMatch(/^HTTP\/1\.1 401 /);
  expect(await get("/v1/threads", HOST)).toMatch(/^HTTP\/1\.1 200 (?!.*chunked)/s);
});
