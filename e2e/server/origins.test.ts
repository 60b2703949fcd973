import { createClient } from "@awaken/client";
import { createServer, serve } from "@awaken/server";
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
