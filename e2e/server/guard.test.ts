import { connect } from "node:net";
import { messageId, runId, threadId } from "@awaken/contract";
import { fakeClock } from "@awaken/runtime/testing";
import { apiKeys, createServer, hashApiKey, serve } from "@awaken/server";
import { afterAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { ENGINES, openShared, stopServer } from "../relay/support/nodes.ts";
import { openNode, quiet } from "../relay/support/speaker.ts";
import { NAMES, routeOf } from "./support/calls.ts";
import { ask, openServer, readFrames, request } from "./support/client.ts";
import { held } from "./support/named.ts";

afterAll(stopServer);

const DURABLE = ["sqlite", "postgres"] as const;
const TOKEN = "an-admin-token-of-some-length";
const queuePageSchema = z.object({
  items: z.array(z.object({ threadId: z.string() })),
  hasMore: z.boolean(),
  nextCursor: z.string().optional(),
});

describe.each(ENGINES)("who is let in on %s", (engine) => {
  test("server-and-durability 66: missing, wrong and doubled Authorization are 401 on admin routes, and nothing happens", async () => {
    await using shared = await openShared(engine);
    await using runtime = openNode(shared.stores[0]);
    const server = openServer({ runtime, admin: { token: TOKEN } });
    const get = async (path: string, ...headers: readonly string[]) => {
      const list = new Headers();
      for (const header of headers) list.append("authorization", header);
      return (await server.fetch(new Request(`http://localhost${path}`, { headers: list }))).status;
    };
    for (const path of ["/v1/system/info", "/v1/system/modules", "/v1/runs/summary"]) {
      expect(await get(path), path).toBe(401);
      expect(await get(path, `Bearer ${TOKEN}x`), path).toBe(401);
      expect(await get(path, `Basic ${TOKEN}`), path).toBe(401);
      expect(await get(path, `Bearer ${TOKEN}`, `Bearer ${TOKEN}`), path).toBe(401);
      expect(await get(path, `bEaReR ${TOKEN}`), path).toBe(200);
    }
    const closed = openServer({ runtime });
    expect(await ask(closed, "GET", "/v1/system/info", { headers: { authorization: `Bearer ${TOKEN}` } })).toMatchObject({ status: 401 });
  });

  test("server-and-durability 67: an admin surface without a token does not start, nor a server that others can reach without keys", async () => {
    await using shared = await openShared(engine);
    await using runtime = openNode(shared.stores[0]);
    for (const token of ["", "   ", "short"])
      expect(() => createServer({ runtime, admin: { token } })).toThrow("admin surface needs a token");
    await expect(serve({ runtime, host: "0.0.0.0", port: 0 })).rejects.toMatchObject({ code: "config_validation_failed" });
    expect(() => createServer({ runtime: { ...runtime, store: undefined } })).toThrow("needs a store");
    expect(() => apiKeys([{ hash: "not-a-hash" }])).toThrow("64 hex digits");
  });
});

describe("who is let in", () => {
  test("without access nobody is let in; a key is one header, of one tenant; an access function that throws lets in nobody", async () => {
    await using shared = await openShared("memory");
    await using runtime = openNode(shared.stores[0]);
    const thread = (server: ReturnType<typeof createServer>, headers = {}) =>
      ask(server, "POST", "/v1/threads", { body: { id: "t" }, headers });
    const closed = createServer(held({ runtime, log: quiet }));
    expect(await thread(closed)).toMatchObject({ status: 401, body: { code: "unauthorized" } });
    const keyed = createServer(held({ runtime, log: quiet, access: apiKeys([{ hash: await hashApiKey("k1"), scopeId: "one" }]) }));
    expect(await thread(keyed, { authorization: "Bearer k2" })).toMatchObject({ status: 401 });
    expect(await thread(keyed, { authorization: "Bearer k1, Bearer k1" })).toMatchObject({ status: 401 });
    expect(await thread(keyed, { authorization: "Bearer k1" })).toMatchObject({ status: 201 });
    const broken = createServer(held({ runtime, log: quiet, access: () => expect.fail("no directory") }));
    expect(await thread(broken)).toMatchObject({ status: 401, body: { error: expect.not.stringContaining("directory") } });
    const badScope = createServer(held({ runtime, log: quiet, access: () => ({ scopeId: "\u0000" }) }));
    expect(await thread(badScope)).toMatchObject({ status: 401 });
    expect(await shared.stores[0].threads.count({})).toBe(0);
  });

  test("pages of other origins may not ask, those that are listed may", async () => {
    await using shared = await openShared("memory");
    await using runtime = openNode(shared.stores[0]);
    const server = openServer({ runtime, origins: ["https://app.example.com", "http://localhost:*"] });
    const preflight = (origin: string) =>
      ask(server, "OPTIONS", "/v1/runs", {
        headers: { origin, "access-control-request-method": "POST", "access-control-request-headers": "content-type" },
      });
    expect((await preflight("https://app.example.com")).headers.get("access-control-allow-origin")).toBe("https://app.example.com");
    expect((await preflight("http://localhost:5173")).headers.get("access-control-allow-origin")).toBe("http://localhost:5173");
    expect((await preflight("http://localhost")).headers.get("access-control-allow-origin")).toBe("http://localhost");
    const strangers = [
      "https://evil.example.com",
      "http://localhost:",
      "https://localhost",
      "http://localhost.evil.example.com",
      "https://localhost:5173",
      "http://localhost:1.evil.example.com",
    ];
    for (const origin of strangers) expect((await preflight(origin)).headers.get("access-control-allow-origin"), origin).toBeNull();
  });

  test("a change that a page of another origin asks for is refused before anything is done, unless it shows a key", async () => {
    await using shared = await openShared("memory");
    await using runtime = openNode(shared.stores[0]);
    const hash = await hashApiKey("secret-key");
    const open = openServer({ runtime, origins: ["https://app.example.com"] });
    const keyed = createServer(held({ runtime, access: apiKeys([{ hash }]), log: quiet }));
    const create = (headers: Readonly<Record<string, string>>, server = open) =>
      ask(server, "POST", "/v1/threads", { body: { id: crypto.randomUUID() }, headers });
    const count = async () => (await ask(open, "GET", "/v1/threads")).body["total"];
    const strangers = ["https://evil.example.com", "null", "http://localhost:8080", "https://localhost.evil.example.com"];
    for (const origin of strangers)
      expect(await create({ origin }), origin).toMatchObject({ status: 403, body: { code: "origin_not_allowed" } });
    // Browsers send these without asking first.
    await ask(open, "POST", "/v1/threads", { body: { id: "t" } });
    for (const method of ["POST", "DELETE"]) {
      const path = method === "POST" ? "/v1/threads/t/cancel" : "/v1/threads/t";
      expect((await ask(open, method, path, { headers: { origin: "https://evil.example.com" } })).status).toBe(403);
    }
    expect(await count()).toBe(1);
    // Who reads changes nothing, and cannot see the answer.
    const read = await ask(open, "GET", "/v1/threads", { headers: { origin: "https://evil.example.com" } });
    expect([read.status, read.headers.get("access-control-allow-origin")]).toEqual([200, null]);
    const own = [
      { origin: "https://app.example.com" },
      { origin: "http://localhost" },
      { origin: "https://desk.example.com", host: "desk.example.com" },
      { origin: "https://desk.example.com", host: "10.0.0.7:3000", "sec-fetch-site": "same-origin" },
    ];
    for (const headers of own) expect((await create(headers)).status, headers.origin).toBe(201);
    const stranger = { origin: "https://evil.example.com" };
    expect((await create({ ...stranger, authorization: "Bearer secret-key" }, keyed)).status).toBe(201);
    expect((await create(stranger, keyed)).status).toBe(403);
    expect((await create({ ...stranger, authorization: "Bearer other-key" }, keyed)).status).toBe(401);
    expect(await count()).toBe(6);
  });
});

test("server-and-durability 66: dead letters are listed, put into the queue again and dropped by whoever runs the server, and by nobody else", async () => {
  await using shared = await openShared("sqlite");
  const [store] = shared.stores;
  const broken =
    (commit: typeof store.commit): typeof store.commit =>
    (given) =>
      given.fence === undefined || given.dispatch?.type === "dead-letter" ? commit(given) : Promise.reject(new Error("the disk is full"));
  const scoped: typeof store.scoped = (id) => {
    const own = store.scoped(id);
    return { ...own, commit: broken(own.commit) };
  };
  const worker = openNode({ ...store, scoped, commit: broken(store.commit) }, { maxAttempts: 1 });
  for (const thread of ["t1", "t2"]) {
    const { runId: run } = await worker.start({ agent: "assistant", thread, input: "say" });
    await expect.poll(async () => (await store.runs.load(run))?.status).toBe("done");
  }
  await worker.close();
  await using runtime = openNode(store);
  const server = openServer({ runtime, admin: { token: TOKEN } });
  const headers = { authorization: `Bearer ${TOKEN}` };
  const page = await ask(server, "GET", "/v1/dead-letters?limit=1", { headers });
  expect(page.body).toMatchObject({ items: [{ threadId: "t1", attempts: 1 }], hasMore: true });
  const rest = await ask(server, "GET", `/v1/dead-letters?cursor=${encodeURIComponent(String(page.body["nextCursor"]))}`, { headers });
  expect(rest.body).toMatchObject({ items: [{ threadId: "t2" }], hasMore: false });
  const idOf = ({ body }: typeof page): string => (Array.isArray(body["items"]) ? Object(body["items"][0]).id : expect.fail());
  for (const name of NAMES.filter((each) => routeOf(each).gate === "admin")) {
    const { method, path } = routeOf(name);
    for (const authorization of [undefined, `Bearer ${TOKEN}x`, `Basic ${TOKEN}`, `Bearer ${TOKEN}, Bearer ${TOKEN}`]) {
      const refused = await ask(server, method, path.replace(":id", idOf(page)), {
        headers: authorization === undefined ? {} : { authorization },
      });
      expect(refused, `${name} ${authorization}`).toMatchObject({ status: 401, body: { code: "unauthorized" } });
    }
  }
  expect((await ask(server, "GET", "/v1/dead-letters?limit=1", { headers })).body).toEqual(page.body);
  const again = await ask(server, "POST", `/v1/dead-letters/${idOf(page)}/replay`, { headers });
  expect(again).toMatchObject({ status: 202, body: { threadId: "t1" } });
  expect((await ask(server, "GET", `/v1/runs/${again.body["runId"]}/result`)).body).toMatchObject({ status: "done" });
  expect(await ask(server, "POST", `/v1/dead-letters/${idOf(page)}/replay`, { headers })).toMatchObject({ status: 404 });
  expect(await ask(server, "DELETE", `/v1/dead-letters/${idOf(rest)}`, { headers })).toMatchObject({ status: 204 });
  expect((await ask(server, "GET", "/v1/dead-letters", { headers })).body).toMatchObject({ items: [] });
});

describe("health", () => {
  test.each(ENGINES)(
    "server-and-durability 71: /health is 503 when the store hangs for 5 s, while /health/live stays 200, on %s",
    async (engine) => {
      await using shared = await openShared(engine);
      await using runtime = openNode(shared.stores[0]);
      const clock = fakeClock(0);
      const [store] = shared.stores;
      const hanging = { ...store, runs: { ...store.runs, load: () => new Promise<undefined>(() => {}) } };
      const server = openServer({ runtime: { ...runtime, store: hanging }, clock });
      const health = ask(server, "GET", "/health");
      await clock.advance(4_999);
      expect(await Promise.race([health, ask(server, "GET", "/health/live")])).toMatchObject({ status: 200, body: {} });
      await clock.advance(1);
      expect(await health).toMatchObject({ status: 503, body: { status: "unhealthy", components: { store: "timeout" } } });
      const failing = { ...store, runs: { ...store.runs, load: () => Promise.reject(new Error("secret host")) } };
      const failed = await ask(openServer({ runtime: { ...runtime, store: failing } }), "GET", "/health");
      expect(failed).toMatchObject({ status: 503, body: { components: { store: "error" } } });
    },
  );

  test("a server whose store is away when it starts is ready when the store has come back", async () => {
    await using shared = await openShared("memory");
    const [store] = shared.stores;
    await using runtime = openNode(store);
    let isAway = true;
    let recoveries = 0;
    const away = async <T>(work: () => Promise<T>): Promise<T> => (isAway ? Promise.reject(new Error("connection refused")) : work());
    const load: typeof store.runs.load = (id) => away(() => store.runs.load(id));
    const recover = () => {
      recoveries += 1;
      return away(() => runtime.recover());
    };
    const { scoped, watch } = runtime;
    const server = openServer({ runtime: { scoped, watch, recover, store: { ...store, runs: { ...store.runs, load } } } });
    const health = () => ask(server, "GET", "/health");
    expect(await health()).toMatchObject({ status: 503, body: { components: { store: "error", runtime: "starting" } } });
    expect(await health()).toMatchObject({ status: 503 });
    isAway = false;
    await expect.poll(async () => (await health()).status).toBe(200);
    expect(recoveries).toBe(2);
  });

  test("a server that leaves is not ready first, and then refuses", async () => {
    await using shared = await openShared("memory");
    await using runtime = openNode(shared.stores[0]);
    const server = openServer({ runtime });
    await expect.poll(async () => (await ask(server, "GET", "/health")).status).toBe(200);
    server.drain();
    expect(await ask(server, "GET", "/health")).toMatchObject({ status: 503, body: { components: { runtime: "shutting-down" } } });
    expect(await ask(server, "GET", "/v1/threads")).toMatchObject({ status: 200 });
    await server.close();
    expect(await ask(server, "GET", "/v1/threads")).toMatchObject({ status: 503, body: { code: "shutting_down" } });
    expect(await ask(server, "GET", "/health/live")).toMatchObject({ status: 200 });
  });
});

describe("streams", () => {
  test.each(DURABLE)(
    "server-and-durability 60: whoever leaves cancels nothing, and whoever stops reading holds nobody up and is dropped, on %s",
    async (engine) => {
      await using shared = await openShared(engine);
      await using runtime = openNode(shared.stores[0]);
      const clock = fakeClock(0);
      const server = openServer({ runtime, clock });
      const post = (thread: string, words: string) =>
        server.fetch(
          request("POST", "/v1/runs", { body: { agentId: "assistant", threadId: thread, messages: [{ role: "user", content: words }] } }),
        );
      const left = await post("left", "slow");
      await left.body?.cancel();
      const asleep = await post("asleep", `say ${"x".repeat(200_000)}`);
      const done = (response: Response) => runtime.wait(response.headers.get("x-run-id") ?? "");
      expect(await done(asleep)).toMatchObject({ status: "done" });
      expect(await done(left)).toMatchObject({ status: "done", text: expect.stringContaining("five.") });
      // Its buffer is full, and nobody reads it.
      for (let round = 0; round < 8; round++) await clock.advance(5_000);
      await expect(readFrames(asleep)).rejects.toThrow("does not read");
      const all = await readFrames(await server.fetch(request("GET", `/v1/runs/${asleep.headers.get("x-run-id")}/events/stream`)));
      expect(all.at(-1)?.data.type).toBe("run-end");
    },
  );

  test("a silent stream is kept alive with comments, and a failure in mid-stream is told before it ends", async () => {
    await using shared = await openShared("memory");
    await using runtime = openNode(shared.stores[0]);
    const clock = fakeClock(0);
    const server = openServer({ runtime, clock });
    await ask(server, "POST", "/v1/threads", { body: { id: "t" } });
    const response = await server.fetch(request("GET", "/v1/threads/t/events/stream"));
    const reader = response.body?.getReader();
    const first = reader?.read();
    for (let round = 0; round < 3; round++) await clock.advance(5_000);
    expect(new TextDecoder().decode((await first)?.value)).toBe(": heartbeat\n\n");
    const next = reader?.read();
    await server.close();
    expect((await next)?.done).toBe(true);
  });

  test.each(DURABLE)("server-and-durability 63: a cursor that retention has swept is 410, on %s", async (engine) => {
    await using shared = await openShared(engine);
    await using runtime = openNode(shared.stores[0]);
    const server = openServer({ runtime });
    await runtime.run({ agent: "assistant", thread: "t", input: "say" });
    const { body } = await ask(server, "GET", "/v1/threads/t/events?limit=1");
    await new Promise((resolve) => setTimeout(resolve, 5));
    await shared.stores[0].sweep({ eventsMs: 1 });
    const cursor = encodeURIComponent(String(body["nextCursor"]));
    for (const path of ["events", "events/stream"]) {
      expect(await ask(server, "GET", `/v1/threads/t/${path}?cursor=${cursor}`)).toMatchObject({
        status: 410,
        body: { code: "cursor_expired" },
      });
    }
  });
});

describe("limits", () => {
  test("requests, bodies and time have a limit, and what is behind the server is not told", async () => {
    await using shared = await openShared("memory");
    const [store] = shared.stores;
    await using runtime = openNode(store);
    const slow = openServer({ runtime, limits: { bodyMs: 20, maxRequests: 1, requestMs: 60_000 } });
    const never = () =>
      slow.fetch(
        new Request("http://localhost/v1/threads", {
          method: "POST",
          body: new ReadableStream({}),
          duplex: "half",
          headers: { "content-type": "application/json" },
        } as RequestInit),
      );
    const [first, second] = await Promise.all([never(), ask(slow, "GET", "/v1/threads")]);
    expect(first.status).toBe(408);
    expect(second).toMatchObject({ status: 503, body: { code: "server_busy" } });
    expect(second.headers.get("retry-after")).toBe("1");
    const broken = { ...store, threads: { ...store.threads, load: () => Promise.reject(new Error("password=hunter2 at /srv/app.ts:3")) } };
    const scoped = { ...broken, scoped: () => broken };
    const reply = await ask(openServer({ runtime: { ...runtime, store: scoped } }), "GET", "/v1/threads/t");
    expect(reply).toMatchObject({ status: 500, body: { code: "internal", error: "something went wrong in the server" } });
    await store.threads.create({ id: threadId("t") });
    expect(await store.runs.load(runId("none"))).toBeUndefined();
  });

  test("over a socket: 10,000 headers and a page that names this machine otherwise are refused, and the server goes on", async () => {
    await using shared = await openShared("memory");
    const runtime = openNode(shared.stores[0]);
    await using server = await serve(held({ runtime, port: 0, log: quiet }));
    const send = (text: string): Promise<string> =>
      new Promise((resolve) => {
        const socket = connect(server.port, "127.0.0.1", () => socket.write(text));
        let read = "";
        socket.on("data", (chunk) => {
          read += String(chunk);
        });
        socket.on("error", () => {});
        socket.on("close", () => resolve(read));
      });
    const get = (count: number, last = "") => {
      const headers = Array.from({ length: count }, (_, index) => `x-${index}: 1\r\n`).join("");
      return send(`GET /v1/threads HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${headers}${last}\r\n`);
    };
    // As many as fit into 16 KiB are counted: none is left out without a word.
    for (const count of [10_000, 1_000, 99]) expect(await get(count), `${count}`).toMatch(/^HTTP\/1\.1 431 .*"code":"headers_too_large"/s);
    expect(await get(97, "accept: text/plain\r\n")).toMatch(/^HTTP\/1\.1 200/);
    expect(await send("GET /v1/threads HTTP/1.1\r\nhost: evil.example.com\r\nconnection: close\r\n\r\n")).toMatch(
      /^HTTP\/1\.1 401 .*"code":"unauthorized"/s,
    );
    expect(await send("NONSENSE\r\n\r\n")).toMatch(/^HTTP\/1\.1 400 .*"code":"invalid_request"/s);
    expect(await shared.stores[0].threads.count({})).toBe(0);
    expect((await fetch(`${server.url}/v1/threads`)).status).toBe(200);
  });
});

test.each(ENGINES)("the queue is walked page by page, dispatches first and then what nobody reads, on %s", async (engine) => {
  await using shared = await openShared(engine);
  const [store] = shared.stores;
  await using runtime = openNode(store, { workers: false });
  const server = openServer({ runtime, admin: { token: TOKEN } });
  // Until then it takes up what nobody reads.
  await expect.poll(async () => (await ask(server, "GET", "/health")).status).toBe(200);
  for (const thread of ["d1", "d2", "d3"]) await runtime.start({ agent: "assistant", thread, input: "say" });
  const note = { id: messageId("m"), role: "user" as const, content: [{ type: "text" as const, text: "hm" }] };
  const deliveryMode = { boundary: "next-step", fallbackToNewRun: false } as const;
  for (const thread of ["u1", "u2", "u3", "u4"]) await store.pending.append(threadId(thread), [{ message: note, deliveryMode }]);
  const walk = async (limit: number) => {
    const pages: string[][] = [];
    for (let cursor = ""; ; ) {
      const { body } = await ask(server, "GET", `/v1/queue?limit=${limit}&cursor=${cursor}`, {
        headers: { authorization: `Bearer ${TOKEN}` },
      });
      const { items, hasMore, nextCursor } = queuePageSchema.parse(body);
      pages.push(items.map(({ threadId: id }) => id));
      expect(hasMore).toBe(nextCursor !== undefined);
      if (nextCursor === undefined) return pages;
      cursor = nextCursor;
    }
  };
  expect(await walk(2)).toEqual([["d1", "d2"], ["d3", "u1"], ["u2", "u3"], ["u4"]]);
  expect(await walk(3)).toEqual([["d1", "d2", "d3"], ["u1", "u2", "u3"], ["u4"]]);
  expect(await walk(7)).toEqual([["d1", "d2", "d3", "u1", "u2", "u3", "u4"]]);
});
