import { once } from "node:events";
import { connect } from "node:net";
import { createClient } from "@awaken/client";
import { createServer, defineProtocol, type ServerInit, serve } from "@awaken/server";
import { expect, test } from "vitest";
import { openShared } from "../relay/support/nodes.ts";
import { openNode, quiet } from "../relay/support/speaker.ts";
import { hello } from "./support/busy.ts";
import { ask, openServer } from "./support/client.ts";
import { held } from "./support/named.ts";

const ORIGIN = "https://evil.example.com";

test("what a browser adds to requests of any page by itself is no key: such a change is refused, and the answer says what helps", async () => {
  await using shared = await openShared("memory");
  await using runtime = openNode(shared.stores[0]);
  const server = openServer({ runtime, access: ({ headers }) => (headers.has("authorization") ? { scopeId: "default" } : undefined) });
  const create = (authorization: string) => ask(server, "POST", "/v1/threads", { body: {}, headers: { origin: ORIGIN, authorization } });
  const added = ["Basic YW5hOnNlY3JldA==", "Negotiate YIIB", "NTLM TlRM", "Digest username=ana", "", "Bearer", "Bearer a, Basic b"];
  for (const authorization of added) {
    const { status, body } = await create(authorization);
    expect([authorization, status, body["code"]]).toEqual([authorization, 403, "origin_not_allowed"]);
    expect(body["error"]).toMatch(/`origins`.*Bearer.*proxy that changes Host/);
  }
  expect(await shared.stores[0].threads.count({})).toBe(0);
  expect((await create("Bearer token")).status).toBe(201);
});

const HOME = "https://app.example.com";
const SEEN = ["access-control-allow-origin", "access-control-allow-credentials", "vary"];
const seenIn = ({ headers }: { readonly headers: Headers }) => SEEN.map((name) => headers.get(name)?.toLowerCase() ?? null);

test("a page of a listed origin may ask with the cookies of whoever looks at it, and read every kind of answer; no other page may", async () => {
  await using shared = await openShared("memory");
  const access = ({ headers }: { readonly headers: Headers }) => (headers.get("cookie") === "session=ana" ? { scopeId: "ana" } : undefined);
  const init = { runtime: openNode(shared.stores[0]), origins: [HOME, "http://localhost:*"], access, log: quiet };
  await using server = await serve(held({ ...init, port: 0 }));
  const inApp = createServer(held(init));
  const hosts = [fetch, async (url: string, asked: RequestInit) => inApp.fetch(new Request(url, asked))] as const;
  for (const fetchIn of hosts) {
    const from = (method: string, path: string, headers: Readonly<Record<string, string>>, body?: object) =>
      fetchIn(server.url + path, {
        method,
        headers: { ...headers, ...(body === undefined ? undefined : { "content-type": "application/json" }) },
        ...(body === undefined ? undefined : { body: JSON.stringify(body) }),
      });
    const walk = async (origin: string, cookie = "session=ana") => {
      const asked = { origin, cookie };
      const answers = [
        await from("OPTIONS", "/v1/runs", {
          origin,
          "access-control-request-method": "POST",
          "access-control-request-headers": "content-type",
        }),
        await from("POST", "/v1/runs", asked, hello("say")),
        await from("GET", "/v1/threads", asked),
        await from("GET", "/v1/threads/none", asked),
        await from("GET", "/nowhere", asked),
        await from("GET", "/v1/threads", { origin }),
      ];
      for (const answer of answers) await answer.text();
      return answers;
    };
    for (const origin of [HOME, "http://localhost:5173"]) {
      const answers = await walk(origin);
      expect(answers.map(({ status }) => status)).toEqual([204, 200, 200, 404, 404, 401]);
      for (const answer of answers) expect(seenIn(answer), answer.url).toEqual([origin, "true", "origin"]);
    }
    const strange = await walk(ORIGIN);
    expect(strange.map(({ status }) => status)).toEqual([204, 403, 200, 404, 404, 401]);
    for (const answer of strange) expect(seenIn(answer), answer.url).toEqual([null, null, "origin"]);
  }
});

test("origins that no browser says, and '*', are refused when the server is made", async () => {
  await using shared = await openShared("memory");
  await using runtime = openNode(shared.stores[0]);
  const make = (origin: string) => () => createServer({ runtime, access: "open", origins: [HOME, origin] });
  const wrong = [
    "*",
    "null",
    "",
    "app.example.com",
    `${HOME}/`,
    `${HOME}/app`,
    "https://App.example.com",
    "https://app.example.com:443",
    "https://*.example.com",
    "https://*:*",
  ];
  for (const origin of wrong) {
    expect(make(origin), origin).toThrow(
      expect.objectContaining({ code: "config_validation_failed", message: expect.stringContaining("origins") }),
    );
  }
  for (const origin of [
    "http://localhost:*",
    "http://127.0.0.1:5173",
    "https://[::1]:8443",
    "tauri://localhost",
    "chrome-extension://abcdef",
  ])
    make(origin)();
});

const WORDS = { type: "frames", of: "words", headers: { "x-words": "1" } } as const;
const READS = ["authorization", "content-type", "x-request-id"];

test("a preflight allows what the routes read, their methods, and headers that were added; a page may read what they say", async () => {
  await using shared = await openShared("memory");
  await using runtime = openNode(shared.stores[0]);
  const spoken = defineProtocol(
    "spoken",
    { say: { method: "PUT", path: "/say", gate: "invoke", summary: "Says.", headers: ["If-Match"], answer: WORDS, errors: [] } },
    { say: () => expect.fail() },
  );
  const listsOf = async (init: Partial<ServerInit>) => {
    const server = openServer({ runtime, origins: [HOME], ...init });
    const asked = { origin: HOME, "access-control-request-method": "POST" };
    const { status, headers } = await ask(server, "OPTIONS", "/v1/runs", { headers: asked });
    expect([status, headers.get("access-control-max-age")]).toEqual([204, "600"]);
    const list = (name: string) => headers.get(`access-control-${name}`)?.split(",").toSorted();
    return { may: list("allow-headers"), methods: list("allow-methods"), says: list("expose-headers") };
  };
  expect(await listsOf({})).toEqual({
    may: [...READS, "idempotency-key", "if-match", "last-event-id"].toSorted(),
    methods: ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"],
    says: ["retry-after", "x-awaken-encoder", "x-request-id", "x-run-id", "x-thread-id", "x-vercel-ai-ui-message-stream"],
  });
  expect(await listsOf({ only: spoken, originHeaders: ["X-Tenant", "traceparent", "if-match"] })).toEqual({
    may: [...READS, "if-match", "traceparent", "x-tenant"].toSorted(),
    methods: ["HEAD", "OPTIONS", "PUT"],
    says: ["retry-after", "x-request-id", "x-run-id", "x-thread-id", "x-words"],
  });
  for (const name of ["*", "", "x y", "x:", "x,y"])
    expect(() => openServer({ runtime, origins: [HOME], originHeaders: [name] }), name).toThrow("originHeaders are names of headers");
});

/** All that is answered to these pieces, which come one after the other, until the server ends the connection. */
async function send(port: number, ...pieces: readonly string[]): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let read = "";
  socket.on("data", (chunk) => {
    read += String(chunk);
  });
  socket.on("error", () => {});
  const closed = once(socket, "close");
  for (const piece of pieces) await new Promise<void>((resolve) => socket.write(piece, () => setTimeout(resolve, 20)));
  await closed;
  return read;
}

test("a page of a listed origin is told also why its request was not looked at: cookies that have grown too large, too many headers, no request", async () => {
  await using shared = await openShared("memory");
  await using server = await serve(held({ runtime: openNode(shared.stores[0]), port: 0, log: quiet, origins: [HOME] }));
  const head = (origin: string) => `GET /v1/threads HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\norigin: ${origin}\r\n`;
  const cookie = (kib: number) => `cookie: c=${"x".repeat(kib * 1024)}\r\n`;
  const many = Array.from({ length: 120 }, (_, index) => `x-${index}: 1\r\n`).join("");
  const post = `POST /v1/threads HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\norigin: `;
  const refusals = (origin: string): readonly (readonly [RegExp, readonly string[]])[] => [
    // As a browser sends it, in one piece, and as networks cut it.
    [/^HTTP\/1\.1 431 /, [`${head(origin)}${cookie(20)}\r\n`]],
    [/^HTTP\/1\.1 431 /, [`${head(origin)}cookie: c=${"x".repeat(12_000)}`, `${"x".repeat(12_000)}\r\n\r\n`]],
    [/^HTTP\/1\.1 431 /, [`${head(origin)}${cookie(60)}\r\n`]],
    [/^HTTP\/1\.1 431 /, [`${head(origin)}${many}\r\n`]],
    [/^HTTP\/1\.1 400 /, [`${head(origin)}no header\r\n\r\n`]],
    [/^HTTP\/1\.1 400 /, [`${post}${origin}\r\ntransfer-encoding: chunked\r\n\r\n`, "ZZ\r\n"]],
  ];
  for (const [status, pieces] of refusals(HOME)) {
    const read = await send(server.port, ...pieces);
    expect(read).toMatch(status);
    expect(read).toMatch(new RegExp(`\r\naccess-control-allow-origin: ${HOME}\r\n`, "i"));
    expect(read).toMatch(/"code":"(?:headers_too_large|invalid_request)"/);
  }
  for (const [, pieces] of refusals(ORIGIN)) {
    const read = await send(server.port, ...pieces);
    expect(read).toMatch(/^HTTP\/1\.1 4\d\d /);
    expect(read).not.toMatch(/access-control-allow/i);
  }
  expect(await send(server.port, `${head(HOME)}${cookie(15)}\r\n`)).toMatch(/^HTTP\/1\.1 200 /);
  // Where no page may ask, nothing more is read than is taken.
  await using own = await serve(held({ runtime: openNode(shared.stores[1]), port: 0, log: quiet }));
  expect(await send(own.port, `${head(HOME)}${cookie(20)}\r\n`)).toMatch(/^HTTP\/1\.1 431 (?!.*access-control)/s);
});

test("a method that a route does not have is told those that it has", async () => {
  await using shared = await openShared("memory");
  await using runtime = openNode(shared.stores[0]);
  const server = openServer({ runtime });
  for (const [method, path, allow] of [
    ["PUT", "/v1/threads", "GET, HEAD, POST"],
    ["OPTIONS", "/v1/runs/start", "POST"],
    ["BREW", "/v1/threads/t", "GET, HEAD, PATCH, DELETE"],
  ] as const) {
    const { status, headers, body } = await ask(server, method, path);
    expect([status, headers.get("allow"), body["code"]], path).toEqual([405, allow, "method_not_allowed"]);
  }
});

test("a client sends cookies to another origin when it is told to", async () => {
  await using shared = await openShared("memory");
  await using runtime = openNode(shared.stores[0]);
  const server = openServer({ runtime });
  const sent: string[] = [];
  const fetchIn = (request: Request) => {
    sent.push(request.credentials);
    return server.fetch(request);
  };
  for (const init of [{ credentials: "include" }, {}] as const) {
    await createClient({ url: "http://localhost", fetch: fetchIn, ...init }).run({ agent: "assistant", thread: "t", input: "say" });
  }
  expect(sent).toContain("include");
  expect(sent.slice(sent.length / 2)).toEqual(sent.slice(sent.length / 2).map(() => "same-origin"));
  expect(sent.slice(0, sent.length / 2)).toEqual(sent.slice(sent.length / 2).map(() => "include"));
});
