import { apiKeys, createServer, hashApiKey } from "@awaken/server";
import { afterAll, describe, expect, test } from "vitest";
import { ENGINES, openShared, stopServer } from "../relay/support/nodes.ts";
import { openNode, quiet } from "../relay/support/speaker.ts";
import { type Belongings, NAMES, pathTo, routeOf, SAMPLES, takesAnyId, withQuery } from "./support/calls.ts";
import { ask, readFrames, request } from "./support/client.ts";
import { held } from "./support/named.ts";

afterAll(stopServer);

const TOKEN = "an-admin-token-of-some-length";
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

const access = async () =>
  apiKeys([
    { hash: await hashApiKey("key-of-a"), scopeId: "tenant-a", principal: { user: "ana" } },
    { hash: await hashApiKey("key-of-b"), scopeId: "tenant-b" },
  ]);

describe.each(ENGINES)("two tenants on %s", (engine) => {
  test("server-and-durability 64, 65 and 81: every route: what one tenant has is 404 for the other, and in none of its lists, counts, streams or metrics", async () => {
    await using shared = await openShared(engine);
    await using runtime = openNode(shared.stores[0], { workers: false });
    const server = createServer(held({ runtime, access: await access(), log: quiet, metrics: true, admin: { token: TOKEN } }));
    const [a, b] = [bearer("key-of-a"), bearer("key-of-b")];
    const body = { agentId: "assistant", threadId: "shared-id", messages: [{ role: "user", content: "approve secretword" }] };
    const frames = await readFrames(await server.fetch(request("POST", "/v1/runs", { body, headers: a })));
    const run = frames.flatMap(({ data }) => (data.type === "run-start" ? [data.runId] : []))[0] ?? expect.fail(JSON.stringify(frames));
    const ticket = frames.flatMap(({ data }) => (data.type === "ticket-open" ? [data.ticket.id] : []))[0] ?? expect.fail();
    const said = await ask(server, "POST", "/v1/threads/shared-id/messages", { body: { messages: body.messages }, headers: a });
    const [pending] = Array.isArray(said.body["messageIds"]) ? said.body["messageIds"] : [];
    const has: Belongings = { thread: "shared-id", run, ticket, pending: String(pending) };
    expect((await shared.stores[0].scoped(runtime.scoped("tenant-a").scopeId).runs.load(run))?.principal).toEqual({ user: "ana" });

    const seenByA = async () => {
      const paths = ["", "/messages", "/runs", "/pending", "/events"].map((rest) => `/v1/threads/shared-id${rest}`);
      return Promise.all([...paths, `/v1/runs/${run}`].map(async (path) => (await ask(server, "GET", path, { headers: a })).body));
    };
    const before = await seenByA();
    expect(JSON.stringify(before)).not.toMatch(/dispatchId|tenant-a|schemaVersion|claimToken|principal/);
    for (const name of NAMES) {
      const route = routeOf(name);
      const sample = SAMPLES[name];
      const reply = await ask(server, route.method, withQuery(pathTo(name, has), sample), {
        ...sample,
        headers: { ...sample.headers, ...b },
      });
      if (route.gate === "admin") expect(reply, name).toMatchObject({ status: 401 });
      else if (takesAnyId(name)) expect([200, 204], name).toContain(reply.status);
      else if (route.path.includes(":"))
        expect(reply, name).toMatchObject({ status: 404, body: { code: expect.stringMatching(/_not_found$/) } });
      else if (name.startsWith("list")) expect(reply.body, name).toMatchObject({ items: [], total: 0, hasMore: false });
      expect(JSON.stringify(reply.body), name).not.toMatch(/secretword|tenant-a/);
      if (name === "createThread" || (route.body !== undefined && reply.status < 300)) await clear(b);
    }
    expect(await seenByA()).toEqual(before);
    const metrics = await (await server.fetch(request("GET", "/metrics"))).text();
    expect(metrics).toContain('awaken_http_requests_total{method="GET",route="/v1/threads/:id",status="404"}');
    expect(metrics, "server-and-durability 72").not.toMatch(/shared-id|tenant-|key-of|thread_id|run_id/);

    async function clear(headers: Readonly<Record<string, string>>): Promise<void> {
      const { body: list } = await ask(server, "GET", "/v1/threads", { headers });
      for (const item of Array.isArray(list["items"]) ? list["items"] : []) {
        const path = `/v1/threads/${Object(item).id}`;
        await ask(server, "POST", `${path}/interrupt`, { headers });
        expect(await ask(server, "DELETE", path, { headers })).toMatchObject({ status: 204 });
      }
    }
    // The same ids are the other tenant's own when it uses them.
    await readFrames(
      await server.fetch(request("POST", "/v1/runs", { body: { ...body, messages: [{ role: "user", content: "say" }] }, headers: b })),
    );
    expect((await ask(server, "GET", "/v1/threads", { headers: b })).body).toMatchObject({ total: 1 });
    const place = frames.findLast(({ id }) => id !== undefined)?.id ?? expect.fail();
    for (const path of ["events", "events/stream"]) {
      const other = await ask(server, "GET", `/v1/threads/shared-id/${path}?cursor=${encodeURIComponent(place)}`, { headers: b });
      expect(other, "server-and-durability 57").toMatchObject({ status: 410, body: { code: "cursor_expired" } });
    }
    expect(await seenByA()).toEqual(before);
  });

  test("a right call of every route fits what the table says of its answer", async () => {
    await using shared = await openShared(engine);
    await using runtime = openNode(shared.stores[0]);
    const server = createServer(held({ runtime, access: "open", log: quiet, metrics: true, admin: { token: TOKEN } }));
    const start = { agentId: "assistant", threadId: "t", messages: [{ role: "user", content: "look approve say" }] };
    const frames = await readFrames(await server.fetch(request("POST", "/v1/runs", { body: start })));
    const run = frames.flatMap(({ data }) => (data.type === "run-start" ? [data.runId] : []))[0] ?? expect.fail(JSON.stringify(frames));
    const ticket = frames.flatMap(({ data }) => (data.type === "ticket-open" ? [data.ticket.id] : []))[0] ?? expect.fail();
    await ask(server, "POST", "/v1/threads/t/messages", { body: { messages: [{ role: "user", content: "say", id: "m" }] } });
    const reads = NAMES.filter((name) => routeOf(name).method === "GET");
    for (const name of [...reads, "createThread", "updateThread", "editPending", "startRun", "decideTicket"] as const) {
      const route = routeOf(name);
      if (route.answer.type !== "json") continue;
      const sample = SAMPLES[name];
      const path = withQuery(pathTo(name, { thread: "t", run, ticket, pending: "m" }), sample);
      const headers = { ...sample.headers, ...(route.gate === "admin" ? bearer(TOKEN) : undefined) };
      const reply = await ask(server, route.method, path, { ...sample, headers });
      expect(reply.status, `${name}: ${JSON.stringify(reply.body)}`).toBe(route.answer.status);
      expect(route.answer.schema["~standard"].validate(reply.body), name).not.toHaveProperty("issues");
    }
  });
});
