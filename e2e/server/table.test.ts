import { AwakenError } from "@awaken/contract";
import { type AwakenServer, createServer, defineProtocol, type ServerInit } from "@awaken/server";
import { describe, expect, test } from "vitest";
import { openShared } from "../relay/support/nodes.ts";
import { openNode, quiet } from "../relay/support/speaker.ts";
import { hello, stream } from "./support/busy.ts";
import { NAMES, pathTo, routeOf, SAMPLES, withQuery } from "./support/calls.ts";
import { ask, openServer, readFrames } from "./support/client.ts";
import { held, takeUnnamed } from "./support/named.ts";

// What can go wrong with any request, asked for on every route. Every server of these tests is held to its document (`support/named.ts`).

const ADMIN = "an-admin-token-of-some-length";
const HAS = { thread: "t", run: "r", ticket: "k", pending: "p" };

const openHeld = (init: ServerInit) => createServer(held({ access: "open", log: quiet, admin: { token: ADMIN }, ...init }));

/** One right call of each route, all at once, and what they were answered. */
const walk = (server: Pick<AwakenServer, "fetch">) =>
  Promise.all(
    NAMES.map(async (name) => {
      const route = routeOf(name);
      const sample = SAMPLES[name];
      const headers = { ...sample.headers, ...(route.gate === "admin" ? { authorization: `Bearer ${ADMIN}` } : undefined) };
      const { status, body } = await ask(server, route.method, withQuery(pathTo(name, HAS), sample), { ...sample, headers });
      return { name, gate: route.gate, answer: [status, body["code"]] };
    }),
  );

describe("server-and-durability 81: the document says of every route", () => {
  test("that it may be late: 504", async () => {
    await using shared = await openShared("memory");
    await using runtime = openNode(shared.stores[0], { workers: false });
    const server = openHeld({ runtime, access: () => new Promise(() => {}), limits: { requestMs: 1 } });
    for (const { name, gate, answer } of await walk(server)) if (gate === "invoke") expect(answer, name).toEqual([504, "timeout"]);
  });

  test("that the server may be leaving: 503", async () => {
    await using shared = await openShared("memory");
    await using runtime = openNode(shared.stores[0], { workers: false });
    const server = openHeld({ runtime });
    await server.close();
    for (const { name, gate, answer } of await walk(server)) if (gate !== "open") expect(answer, name).toEqual([503, "shutting_down"]);
  });

  test("that the server may have too much to do: 503; whoever asks whether it lives is answered, and keeps nobody out", async () => {
    await using shared = await openShared("memory");
    await using runtime = openNode(shared.stores[0], { workers: false });
    const { promise, resolve } = Promise.withResolvers<{ scopeId: string }>();
    const server = openHeld({ runtime, access: () => promise, limits: { maxRequests: 1 } });
    const first = ask(server, "GET", "/v1/threads");
    for (const { name, gate, answer } of await walk(server)) {
      if (gate !== "open") expect(answer, name).toEqual([503, "server_busy"]);
      else if (name === "live") expect(answer).toEqual([200, undefined]);
    }
    resolve({ scopeId: "default" });
    expect((await first).status).toBe(200);
    const [, live, threads] = await Promise.all(["/health", "/health/live", "/v1/threads"].map((path) => ask(server, "GET", path)));
    expect([live?.status, threads?.status]).toEqual([200, 200]);
  });

  test("that its store may be gone: 503", async () => {
    await using shared = await openShared("memory");
    const runtime = openNode(shared.stores[0], { workers: false });
    await shared.stores[0].close();
    const own = ["health", "live", "metrics", "openApi", "systemInfo", "systemModules", "agUiCapabilities"];
    for (const { name, answer } of await walk(openHeld({ runtime }))) {
      if (!own.includes(name)) expect(answer, name).toEqual([503, "storage_io"]);
    }
    await runtime.close().catch(() => {});
  });

  test("what keeps the agent from running, also when it is decided about", async () => {
    await using shared = await openShared("sqlite");
    await using runtime = openNode(shared.stores[0], { workers: false });
    const frames = await readFrames(await stream(openServer({ runtime }), hello("approve say")));
    const ticket = frames.flatMap(({ data }) => (data.type === "ticket-open" ? [data.ticket.id] : []))[0] ?? expect.fail();
    await using other = openNode(shared.stores[1], { workers: false, agents: { other: { model: "fast" } } });
    const server = openServer({ runtime: other });
    const gone = { status: 404, body: { code: "agent_not_found" } };
    expect(await ask(server, "POST", `/v1/tickets/${ticket}/decision`, { body: { action: "approve" } })).toMatchObject(gone);
    expect(await ask(server, "POST", "/v1/runs", { body: { ...hello("say"), threadId: "u" } })).toMatchObject(gone);
  });
});

test("an answer that the table does not name is found", async () => {
  await using shared = await openShared("memory");
  await using runtime = openNode(shared.stores[0], { workers: false });
  const route = {
    method: "GET",
    path: "/late/:id",
    gate: "invoke",
    summary: "Late",
    answer: { type: "empty", status: 204 },
    errors: [],
  } as const;
  const late = defineProtocol(
    "late",
    { late: route },
    {
      async late() {
        throw new AwakenError("ticket_expired", "too late");
      },
    },
  );
  await ask(openServer({ runtime, protocols: [late] }), "GET", "/v1/late/late/x");
  expect(takeUnnamed()).toEqual(["GET /v1/late/late/{id} 410 ticket_expired"]);
  await ask(openServer({ runtime, only: late, basePath: "/api" }), "GET", "/api/late/x");
  expect(takeUnnamed()).toEqual(["GET /api/late/{id} 410 ticket_expired"]);
});
