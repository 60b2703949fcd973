import { threadId } from "@awaken/contract";
import { ROUTES } from "@awaken/contract/http";
import { afterAll, describe, expect, test } from "vitest";
import { ENGINES, openShared, stopServer } from "../relay/support/nodes.ts";
import { openNode } from "../relay/support/speaker.ts";
import { ask, type Frame, framesOf, openServer, readFrames, request, textOf } from "./support/client.ts";

afterAll(stopServer);

const hello = (words: string, thread = "t") => ({ agentId: "assistant", threadId: thread, messages: [{ role: "user", content: words }] });
const isEnd = ({ data }: { readonly data: { readonly type: string } }) => data.type === "run-end";
const ticketOf = (frames: readonly { readonly data: object }[]): string =>
  frames.flatMap(({ data }) => ("ticket" in data ? [Object(data.ticket).id] : []))[0] ?? expect.fail("no ticket");

/** What is on record. How far a reader is in its step may be told in two ways. */
const factsOf = (frames: readonly Frame[]) => frames.flatMap(({ id, data }) => (id === undefined ? [] : [data]));

describe.each(ENGINES)("native routes on %s", (engine) => {
  test("server-and-durability 19 and 59: a run over HTTP; its end is on record when it is seen, and live deltas have no id", async () => {
    await using shared = await openShared(engine);
    await using runtime = openNode(shared.stores[0]);
    const server = openServer({ runtime });
    await using other = openNode(shared.stores[1], { workers: false });
    const there = openServer({ runtime: other });
    const response = await server.fetch(request("POST", "/v1/runs", { body: hello("look say") }));
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    const runId = response.headers.get("x-run-id");
    const frames: Frame[] = [];
    for await (const frame of framesOf(response)) {
      frames.push(frame);
      if (!isEnd(frame)) continue;
      // In this moment, on any node.
      for (const node of [server, there]) {
        expect((await ask(node, "GET", `/v1/runs/${runId}`)).body).toMatchObject({ status: "done" });
        expect(JSON.stringify((await ask(node, "GET", `/v1/runs/${runId}/events?limit=200`)).body)).toContain('"run-finished"');
      }
    }
    expect(frames[0]?.data).toMatchObject({ type: "run-start", runId, threadId: "t" });
    expect(frames.at(-1)?.data).toMatchObject({ type: "run-end", result: { status: "done" } });
    expect(textOf(frames)).toContain("one two three äöü 😀 five.");
    expect(frames.filter(({ data }) => data.type.endsWith("-delta")).every(({ id }) => id === undefined)).toBe(true);
    expect(JSON.stringify(frames)).not.toContain("dispatchId");
    expect((await ask(server, "GET", `/v1/runs/${runId}`)).body).toMatchObject({ status: "done", response: "one two three äöü 😀 five." });
    const { body } = await ask(server, "GET", `/v1/runs/${runId}/events?limit=200`);
    expect(JSON.stringify(body["items"])).toContain('"run-finished"');
    expect((await ask(server, "GET", `/v1/runs/${runId}/result`)).body).toMatchObject({
      status: "done",
      text: "one two three äöü 😀 five.",
      steps: 2,
    });
    const { body: log } = await ask(server, "GET", "/v1/threads/t/messages");
    expect(log).toMatchObject({ total: 5, hasMore: false });
  });

  test("server-and-durability 61 and 57: Last-Event-ID replays exactly what was missed, then follows; bad cursors are 400 and 410", async () => {
    await using shared = await openShared(engine);
    await using runtime = openNode(shared.stores[0]);
    await using other = openNode(shared.stores[1]);
    const [here, there] = [openServer({ runtime }), openServer({ runtime: other })];
    await readFrames(await here.fetch(request("POST", "/v1/runs", { body: hello("look effect say") })));
    const all = await readFrames(await there.fetch(request("GET", "/v1/threads/t/events/stream")), isEnd);
    const places = all.flatMap(({ id }, index) => (id === undefined ? [] : [index]));
    expect(places.length).toBeGreaterThanOrEqual(4);
    for (const place of places.slice(0, -1)) {
      const headers = { "last-event-id": all[place]?.id ?? "" };
      const rest = await readFrames(await there.fetch(request("GET", "/v1/threads/t/events/stream", { headers })), isEnd);
      expect(factsOf(rest)).toEqual(factsOf(all.slice(place + 1)));
      expect(textOf(rest)).toBe(textOf(all.slice(place + 1)));
    }
    const last = all.at(-1)?.id ?? "";
    const following = await there.fetch(request("GET", "/v1/threads/t/events/stream", { headers: { "last-event-id": last } }));
    await readFrames(await here.fetch(request("POST", "/v1/runs", { body: hello("say") })));
    expect((await readFrames(following, isEnd))[0]?.data).toMatchObject({ type: "run-start" });
    // Nothing will come behind the end of a run: a browser that is told 204 does not come again.
    const { body: ended } = await ask(there, "GET", "/v1/threads/t/runs?limit=1");
    const run = `/v1/runs/${Object(ended["items"])[0].runId}/events/stream`;
    const whole = await readFrames(await there.fetch(request("GET", run)));
    expect(whole.at(-1)).toMatchObject({ data: { type: "run-end" } });
    expect((await there.fetch(request("GET", run, { headers: { "last-event-id": whole.at(-1)?.id ?? "" } }))).status).toBe(204);
    for (const path of ["/v1/threads/t/events/stream", "/v1/threads/t/events"]) {
      expect(await ask(there, "GET", `${path}?cursor=nonsense`), path).toMatchObject({ status: 410, body: { code: "cursor_expired" } });
      expect(await ask(there, "GET", `${path}?cursor=%20`), path).toMatchObject({ status: 400, body: { code: "invalid_id" } });
    }
    await ask(here, "POST", "/v1/threads", { body: { id: "other" } });
    expect(await ask(there, "GET", `/v1/threads/other/events/stream?cursor=${encodeURIComponent(last)}`)).toMatchObject({ status: 410 });
  });

  test("server-and-durability 40 to 43: a message to a waiting thread continues its run, tickets are decided once, from any node, after a restart", async () => {
    await using shared = await openShared(engine);
    const first = openNode(shared.stores[0]);
    const before = openServer({ runtime: first });
    const frames = await readFrames(await before.fetch(request("POST", "/v1/runs", { body: hello("approve say") })));
    const runId = frames[0]?.data.type === "run-start" ? frames[0].data.runId : expect.fail();
    const ticket = ticketOf(frames);
    expect(frames.at(-1)?.data).toMatchObject({ type: "run-end", result: { status: "waiting" } });
    await before.close();
    await first.close();
    await using runtime = openNode(shared.stores[1]);
    const server = openServer({ runtime });
    const decision = { action: "approve", id: "d1", by: "ana" };
    expect(await ask(server, "POST", "/v1/tickets/nope/decision", { body: decision })).toMatchObject({
      status: 404,
      body: { code: "ticket_not_found" },
    });
    const call = frames.flatMap(({ data }) => (data.type === "ticket-open" ? [data.ticket.toolCallId] : []))[0];
    expect(await ask(server, "POST", `/v1/tickets/${call}/decision`, { body: decision })).toMatchObject({ status: 404 });
    const decided = await ask(server, "POST", `/v1/tickets/${ticket}/decision`, { body: decision });
    expect(decided).toMatchObject({ status: 202, body: { status: "decision-submitted", runId, threadId: "t" } });
    expect(await ask(server, "POST", `/v1/runs/${runId}/decision`, { body: { ...decision, target: ticket } })).toMatchObject({
      status: 202,
    });
    expect(await ask(server, "POST", "/v1/threads/t/decision", { body: { ...decision, action: "deny", target: ticket } })).toMatchObject({
      status: 409,
    });
    expect((await ask(server, "GET", `/v1/runs/${runId}/result`)).body).toMatchObject({ status: "done" });
    const all = await readFrames(await server.fetch(request("GET", `/v1/runs/${runId}/events/stream`)));
    expect(all.filter(({ data }) => data.type === "decision-taken")).toHaveLength(1);
    expect(all.filter(({ data }) => data.type === "tool-call-resumed")).toHaveLength(1);

    const byCall = await readFrames(await server.fetch(request("POST", "/v1/runs", { body: hello("approve say", "t1") })));
    const [open] = byCall.flatMap(({ data }) => (data.type === "ticket-open" ? [data.ticket] : []));
    const target = { action: "deny", reason: "no", target: open?.toolCallId };
    expect(await ask(server, "POST", `/v1/runs/${runId}/decision`, { body: target })).toMatchObject({ status: 409 });
    expect(await ask(server, "POST", `/v1/runs/${open?.runId}/decision`, { body: target })).toMatchObject({ status: 202 });
    expect((await ask(server, "GET", `/v1/runs/${open?.runId}/result`)).body).toMatchObject({ status: "done" });

    const waits = await readFrames(await server.fetch(request("POST", "/v1/runs", { body: hello("approve", "t2") })));
    const again = await readFrames(await server.fetch(request("POST", "/v1/runs", { body: hello("say", "t2") })));
    const idOf = ({ data }: { readonly data: object }) => ("runId" in data ? data.runId : undefined);
    expect(again[0]?.data).toMatchObject({ type: "run-start", resumed: true });
    expect(again.map(idOf)[0]).toBe(waits.map(idOf)[0]);
    expect(textOf(again)).toContain("one two three");
    expect(again.filter(isEnd)).toHaveLength(1);
  });

  test("server-and-durability 35, 38 and 39: a busy thread is 409, interrupt and cancel find what is there, and nothing twice", async () => {
    await using shared = await openShared(engine);
    await using runtime = openNode(shared.stores[0], { workers: false });
    const server = openServer({ runtime });
    await ask(server, "POST", "/v1/threads", { body: { id: "t" } });
    expect(await ask(server, "POST", "/v1/threads/t/interrupt")).toMatchObject({ status: 404, body: { code: "thread_not_found" } });
    const first = await server.fetch(request("POST", "/v1/runs", { body: hello("slow") }));
    expect(await ask(server, "POST", "/v1/runs", { body: hello("say") })).toMatchObject({
      status: 409,
      body: { code: "thread_already_running" },
    });
    for (const key of ["a", "b"]) await ask(server, "POST", "/v1/runs/start", { body: hello(`say ${key}`) });
    expect((await ask(server, "GET", "/v1/threads/t/runs/active")).body).toMatchObject({ run: { status: "running" } });
    expect(await ask(server, "POST", "/v1/threads/t/interrupt")).toMatchObject({ status: 202, body: { superseded: 2, cancelled: true } });
    expect((await readFrames(first)).at(-1)?.data).toMatchObject({ type: "run-end", result: { status: "cancelled" } });
    expect((await ask(server, "GET", "/v1/threads/t/runs")).body).toMatchObject({ total: 3 });
    const second = await server.fetch(request("POST", "/v1/runs", { body: hello("slow") }));
    const runId = second.headers.get("x-run-id");
    expect(await ask(server, "POST", `/v1/runs/${runId}/cancel`)).toMatchObject({ status: 202 });
    expect((await readFrames(second)).at(-1)?.data).toMatchObject({ type: "run-end", result: { status: "cancelled" } });
    expect(await ask(server, "POST", `/v1/runs/${runId}/cancel`)).toMatchObject({ status: 404 });
    expect(await ask(server, "POST", "/v1/threads/t/cancel")).toMatchObject({ status: 404 });
    const { body: queued } = await ask(server, "POST", "/v1/runs/start", { body: hello("say") });
    expect(await ask(server, "POST", `/v1/runs/${queued["runId"]}/cancel`)).toMatchObject({ status: 202 });
    expect((await ask(server, "GET", `/v1/runs/${queued["runId"]}`)).body).toMatchObject({
      status: "done",
      termination: { type: "cancelled" },
    });
    expect(await ask(server, "POST", `/v1/runs/${queued["runId"]}/cancel`)).toMatchObject({ status: 404 });
  });

  test("server-and-durability 35: of two submits at the same moment, on two nodes, one streams and the other is 409, and left no run that works", async () => {
    await using shared = await openShared(engine);
    await using runtime = openNode(shared.stores[0], { workers: false });
    await using other = openNode(shared.stores[1], { workers: false });
    const servers = [openServer({ runtime }), openServer({ runtime: other })];
    const replies = await Promise.all(servers.map((server) => server.fetch(request("POST", "/v1/runs", { body: hello("slow") }))));
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    for (const reply of replies) {
      if (reply.status === 409) expect(await reply.json()).toMatchObject({ code: "thread_already_running" });
      else expect((await readFrames(reply)).at(-1)?.data).toMatchObject({ type: "run-end", result: { status: "done" } });
    }
    const { body } = await ask(servers[0] ?? expect.fail(), "GET", "/v1/threads/t/runs");
    const runs: readonly { readonly termination: { readonly type: string } }[] = Object(body["items"]);
    expect(runs.filter(({ termination }) => termination.type !== "cancelled")).toHaveLength(1);
  });

  test("server-and-durability 68 to 70: cursors belong to their filter, limits are clamped, and a patch clears with null alone", async () => {
    await using shared = await openShared(engine);
    await using runtime = openNode(shared.stores[0]);
    const server = openServer({ runtime });
    await ask(server, "POST", "/v1/threads", { body: { id: "root", title: "Root" } });
    for (let index = 0; index < 3; index++) {
      const body = { id: `child-${index}`, parentThreadId: "root", resourceId: "r" };
      expect(await ask(server, "POST", "/v1/threads", { body })).toMatchObject({ status: 201 });
    }
    const page = await ask(server, "GET", "/v1/threads?limit=0&resourceId=r");
    expect(page.body).toMatchObject({ items: [{ resourceId: "r" }], total: 3, hasMore: true });
    const cursor = encodeURIComponent(String(page.body["nextCursor"]));
    expect((await ask(server, "GET", `/v1/threads?limit=999&resourceId=r&cursor=${cursor}`)).body).toMatchObject({
      hasMore: false,
      items: { length: 2 },
    });
    const threads = Array.from({ length: 201 }, (_, index) => threadId(`many-${index}`));
    for (const id of threads) await shared.stores[0].threads.create({ id, resourceId: "many" });
    expect((await ask(server, "GET", "/v1/threads?limit=999&resourceId=many")).body).toMatchObject({
      total: 201,
      hasMore: true,
      items: { length: 200 },
    });
    expect((await ask(server, "GET", "/v1/threads?resourceId=many")).body).toMatchObject({ hasMore: true, items: { length: 50 } });
    expect(await ask(server, "GET", `/v1/threads?cursor=${cursor}`)).toMatchObject({ status: 400, body: { code: "invalid_cursor" } });
    expect(await ask(server, "GET", "/v1/threads?cursor=thr_garbage")).toMatchObject({ status: 400, body: { code: "invalid_cursor" } });
    expect(await ask(server, "GET", "/v1/threads?root=true&parentThreadId=root")).toMatchObject({ status: 400 });
    expect((await ask(server, "GET", "/v1/threads?root=true")).body).toMatchObject({ total: 202 });
    const patch = (body: object) => ask(server, "PATCH", "/v1/threads/child-0", { body });
    expect((await patch({ title: "T", custom: { a: 1 } })).body).toMatchObject({ parentThreadId: "root", metadata: { title: "T" } });
    expect((await patch({ parentThreadId: null, custom: { b: 2 } })).body).toMatchObject({
      resourceId: "r",
      metadata: { title: "T", custom: { a: 1, b: 2 } },
    });
    expect((await ask(server, "GET", "/v1/threads/child-0")).body).not.toHaveProperty("parentThreadId");
    expect(await patch({ parentThreadId: "child-0" })).toMatchObject({ status: 400 });
    expect(await ask(server, "DELETE", "/v1/threads/root?childStrategy=reject")).toMatchObject({ status: 400 });
    expect(await ask(server, "DELETE", "/v1/threads/root")).toMatchObject({ status: 204 });
    expect(await ask(server, "GET", "/v1/threads/root")).toMatchObject({ status: 404, body: { code: "thread_not_found" } });
  });

  test("server-and-durability 50 and 51: pending messages are edited at their revision, and not once they were read", async () => {
    await using shared = await openShared(engine);
    await using runtime = openNode(shared.stores[0]);
    const server = openServer({ runtime });
    const running = await server.fetch(request("POST", "/v1/runs", { body: hello("slow say") }));
    const say = (words: string, id: string) => ({ messages: [{ role: "user", content: words, id }] });
    for (const id of ["m1", "m2"])
      expect(await ask(server, "POST", "/v1/threads/t/messages", { body: say("say", id) })).toMatchObject({ status: 202 });
    const { body: queue } = await ask(server, "GET", "/v1/threads/t/pending");
    expect(queue).toMatchObject({ entries: [{ pendingId: "m1", revision: 1 }, { pendingId: "m2" }] });
    const edit = (revision: string, body: object = { message: { role: "user", content: "say twice" } }) =>
      ask(server, "PATCH", "/v1/threads/t/pending/m1", { body, headers: { "if-match": revision } });
    expect(await edit('"1"')).toMatchObject({ status: 200, body: { revision: 2 } });
    expect(await edit('"1"')).toMatchObject({ status: 409, body: { code: "version_conflict" } });
    expect(await edit("x")).toMatchObject({ status: 400, body: { code: "invalid_revision" } });
    const renamed = await edit('"2"', { message: { role: "user", content: "say", id: "m9" } });
    expect([renamed.status, renamed.body["code"]]).toEqual([422, "invalid_body"]);
    expect(await ask(server, "PATCH", "/v1/threads/t/pending/m1", { body: {} })).toMatchObject({
      status: 400,
      body: { code: "invalid_revision" },
    });
    const { body: now } = await ask(server, "GET", "/v1/threads/t/pending");
    const order = { body: { order: ["m2", "m1"] }, headers: { "if-match": `"${now["revision"]}"` } };
    expect((await ask(server, "PUT", "/v1/threads/t/pending/order", order)).body).toMatchObject({
      entries: [{ pendingId: "m2" }, { pendingId: "m1" }],
    });
    expect(await ask(server, "DELETE", "/v1/threads/t/pending/m2", { headers: { "if-match": "1" } })).toMatchObject({ status: 204 });
    expect(await ask(server, "DELETE", "/v1/threads/t/pending/m2", { headers: { "if-match": "1" } })).toMatchObject({ status: 404 });
    await readFrames(running);
    await expect.poll(async () => (await ask(server, "GET", "/v1/threads/t/pending")).body["entries"]).toEqual([]);
    expect(await edit('"2"')).toMatchObject({ status: 409, body: { code: "already_consumed" } });
  });

  test("an Idempotency-Key makes the run: again it is the same run, with another body a conflict, and two at once are one", async () => {
    await using shared = await openShared(engine);
    await using runtime = openNode(shared.stores[0]);
    const server = openServer({ runtime });
    const start = (key: string, words = "say") =>
      ask(server, "POST", "/v1/runs/start", { body: hello(words), headers: { "idempotency-key": key } });
    const [one, two] = await Promise.all([start("k1"), start("k1")]);
    expect([one.status, two.status]).toEqual([202, 202]);
    expect(two.body).toEqual(one.body);
    expect(await start("k1", "other")).toMatchObject({ status: 409, body: { code: "idempotency_conflict" } });
    expect((await ask(server, "GET", `/v1/runs/${one.body["runId"]}/result`)).body).toMatchObject({ status: "done" });
    expect((await start("k1")).body).toEqual(one.body);
    const stream = () => server.fetch(request("POST", "/v1/runs", { body: hello("look say", "s"), headers: { "idempotency-key": "k2" } }));
    const first = await readFrames(await stream());
    const again = await readFrames(await stream());
    expect(again.filter(({ id }) => id !== undefined)).toEqual(first.filter(({ id }) => id !== undefined));
    expect(textOf(again)).toBe(textOf(first));
    expect((await ask(server, "GET", "/v1/runs")).body).toMatchObject({ total: 2 });
    expect(await start("not a key")).toMatchObject({ status: 400 });
  });
});

test("what is not in the table is not there", async () => {
  await using shared = await openShared("memory");
  await using runtime = openNode(shared.stores[0]);
  const server = openServer({ runtime, protocols: [] });
  expect(await ask(server, "GET", "/v1/nothing")).toMatchObject({ status: 404, body: { code: "route_not_found" } });
  expect(await ask(server, "PUT", "/v1/threads")).toMatchObject({ status: 405, body: { code: "method_not_allowed" } });
  const { body } = await ask(server, "GET", "/openapi.json");
  expect(Object.values(Object(body["paths"])).flatMap((methods) => Object.keys(Object(methods)))).toHaveLength(Object.keys(ROUTES).length);
});
