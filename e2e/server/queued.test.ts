import { threadId } from "@awaken/contract";
import { afterAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { openShared, stopServer } from "../relay/support/nodes.ts";
import { openNode } from "../relay/support/speaker.ts";
import { busy, endOf, hello, stream } from "./support/busy.ts";
import { ask, openServer, readFrames, request } from "./support/client.ts";

// What is queued, told and decided over HTTP while others are at work.

afterAll(stopServer);

type Asked = ReturnType<typeof openServer>;
const messagesSchema = z.object({
  items: z.array(z.object({ message: z.object({ role: z.string(), content: z.array(z.object({ text: z.string().default("") })) }) })),
});
const pendingSchema = z.object({ entries: z.array(z.object({ pendingId: z.string() })) });

/** What is said in a thread, without the words of tools. */
async function logOf(server: Asked, thread = "t"): Promise<readonly string[]> {
  const { items } = messagesSchema.parse((await ask(server, "GET", `/v1/threads/${thread}/messages?limit=200`)).body);
  return items.filter(({ message }) => message.role === "user").map(({ message }) => message.content.map(({ text }) => text).join(""));
}

const pendingOf = async (server: Asked, thread = "t"): Promise<readonly string[]> =>
  pendingSchema.parse((await ask(server, "GET", `/v1/threads/${thread}/pending`)).body).entries.map(({ pendingId }) => pendingId);

const start = (server: Asked, body: object) => ask(server, "POST", "/v1/runs/start", { body });
const resultOf = async (server: Asked, run: unknown) => (await ask(server, "GET", `/v1/runs/${run}/result`)).body;
const tell = (server: Asked, path: string, id: string, mode: string) =>
  ask(server, "POST", path, { body: { messages: [{ role: "user", content: `say ${id}`, id }], mode } });

const MORE = { messages: [{ role: "user", content: "say instead" }] };

describe.each(["sqlite", "postgres"] as const)("what is queued over HTTP on %s", (engine) => {
  test("server-and-durability 36 and 37: starts on one thread run one at a time and in order; a dedupe key is 409 while it is open, and taken after that", async () => {
    await using shared = await openShared(engine);
    await using runtime = openNode(shared.stores[0], { workers: false });
    const server = openServer({ runtime });
    await using second = openNode(shared.stores[1], { workers: false });
    const servers = [server, openServer({ runtime: second })] as const;
    const runs: unknown[] = [];
    for (const [index, name] of ["a", "b", "c"].entries()) {
      const { status, body } = await start(servers[index % 2 === 0 ? 0 : 1], hello(`say ${name}`));
      expect(status).toBe(202);
      runs.push(body["runId"]);
    }
    const once = (words: string) => start(server, hello(words, { threadId: "d", dedupeKey: "k" }));
    const { body: first } = await once("say");
    expect(await once("say again")).toMatchObject({ status: 409, body: { code: "storage_already_exists" } });
    expect(await pendingOf(server, "d")).toHaveLength(1);
    // Nodes that take from the queue at the same time.
    await using _worker = openNode(shared.stores[1], { workers: true });
    await using _other = openNode(shared.stores[0], { workers: true });
    for (const run of [...runs, first["runId"]]) expect(await resultOf(server, run)).toMatchObject({ status: "done" });
    const events = await readFrames(
      await server.fetch(request("GET", "/v1/threads/t/events/stream")),
      ({ data }) => data.type === "run-end" && data.runId === runs[2],
    );
    const turns = events.flatMap(({ data }) => (data.type === "run-start" || data.type === "run-end" ? [[data.type, data.runId]] : []));
    expect(turns).toEqual(
      runs.flatMap((run) => [
        ["run-start", run],
        ["run-end", run],
      ]),
    );
    expect(await logOf(server)).toEqual(["say a", "say b", "say c"]);
    let next: unknown;
    await expect
      .poll(async () => {
        const { status, body } = await once("say later");
        next = body["runId"];
        return status;
      })
      .toBe(202);
    expect(await resultOf(server, next)).toMatchObject({ status: "done" });
    expect(await logOf(server, "d")).toEqual(["say", "say later"]);
  });

  test.each([
    ["a stream", "/v1/runs", hello("say instead"), "at once"],
    ["a start", "/v1/runs/start", hello("say instead"), "at once"],
    // Whoever only adds a word takes no decision away: the run reads it when it goes on.
    ["a message to the thread", "/v1/threads/t/messages", MORE, "when it is decided"],
    ["an input of the run", "/v1/runs/:run/inputs", MORE, "when it is decided"],
  ])("server-and-durability 40: a message to a thread with a waiting run continues that run id: %s", async (_, path, body, when) => {
    await using shared = await openShared(engine);
    await using first = openNode(shared.stores[0], { workers: false });
    const here = openServer({ runtime: first });
    const waiting = await stream(here, hello("approve say"));
    const end = endOf(await readFrames(waiting));
    const run = waiting.headers.get("x-run-id") ?? expect.fail();
    await using other = openNode(shared.stores[1], { workers: true });
    const there = openServer({ runtime: other });
    const response = await there.fetch(request("POST", path.replace(":run", run), { body }));
    expect(response.ok).toBe(true);
    const said = await response.text();
    if (when === "when it is decided") {
      expect(JSON.parse(said)).toMatchObject({ status: "behind-tickets", runId: run });
      expect((await ask(there, "GET", `/v1/runs/${run}`)).body).toMatchObject({ status: "waiting" });
      const ticket = end?.type === "run-end" ? end.tickets[0]?.id : expect.fail();
      expect(await ask(there, "POST", `/v1/tickets/${ticket}/decision`, { body: { action: "approve" } })).toMatchObject({ status: 202 });
    }
    await expect.poll(() => logOf(there)).toEqual(["approve say", "say instead"]);
    expect(await resultOf(there, run)).toMatchObject({ status: "done", text: "one two three äöü 😀 five." });
    expect((await ask(there, "GET", "/v1/threads/t/runs")).body).toMatchObject({ total: 1, items: [{ runId: run, status: "done" }] });
    const all = await readFrames(await there.fetch(request("GET", `/v1/runs/${run}/events/stream`)));
    const starts = all.flatMap(({ data }) => (data.type === "run-start" ? [[data.runId, data.resumed ?? false]] : []));
    expect(starts).toEqual([
      [run, false],
      [run, true],
    ]);
    expect(await pendingOf(there)).toEqual([]);
  });

  test("server-and-durability 41: a decision for a ticket or call that is not open there is 404 on every route; a ticket id, or a call id together with its run, is 202", async () => {
    await using shared = await openShared(engine);
    await using runtime = openNode(shared.stores[0], { workers: false });
    const server = openServer({ runtime });
    const waits = async (threadId: string) => {
      const response = await stream(server, hello("approve say", { threadId }));
      const end = endOf(await readFrames(response));
      const [ticket] = end?.type === "run-end" ? end.tickets : expect.fail();
      return { threadId, run: response.headers.get("x-run-id") ?? "", ticket: ticket?.id ?? "", call: ticket?.toolCallId ?? "" };
    };
    const open = await Promise.all(["a", "b", "c", "d", "e"].map(waits));
    const [one, two] = open;
    if (one === undefined || two === undefined) return expect.fail();
    const decide = (path: string, target?: string) =>
      ask(server, "POST", path, { body: { action: "approve", ...(target === undefined ? undefined : { target }) } });
    const missing = [
      decide("/v1/tickets/nope/decision"),
      // Models number their calls as they like: without its run, the id of a call is nobody's.
      decide(`/v1/tickets/${encodeURIComponent(one.call)}/decision`),
      decide(`/v1/runs/${one.run}/decision`, "nope"),
      decide("/v1/threads/a/decision", "nope"),
      decide(`/v1/runs/${one.run}/decision`, two.ticket),
      decide("/v1/threads/a/decision", two.ticket),
      decide("/v1/runs/nope/decision", one.ticket),
      decide("/v1/threads/nope/decision", one.ticket),
    ];
    for (const [index, reply] of (await Promise.all(missing)).entries()) expect(reply, `${index}`).toMatchObject({ status: 404 });
    for (const { run } of open) expect((await ask(server, "GET", `/v1/runs/${run}`)).body).toMatchObject({ status: "waiting" });
    const paths = (each: typeof one): readonly (readonly [string, string?])[] => [
      [`/v1/tickets/${each.ticket}/decision`],
      [`/v1/runs/${each.run}/decision`, each.ticket],
      [`/v1/threads/${each.threadId}/decision`, each.ticket],
      [`/v1/runs/${each.run}/decision`, each.call],
      [`/v1/threads/${each.threadId}/decision`, each.call],
    ];
    for (const [index, each] of open.entries()) {
      const [path, target] = paths(each)[index] ?? expect.fail();
      expect(await decide(path, target), path).toMatchObject({ status: 202, body: { runId: each.run } });
      expect(await resultOf(server, each.run)).toMatchObject({ status: "done" });
    }
  });

  test.each(["streamed", "taken from the queue"])(
    "server-and-durability 44: suspension frees the claim: another node goes on at once with a run that was %s, while the first is still there",
    async (way) => {
      await using shared = await openShared(engine);
      const [store, peer] = shared.stores;
      await using first = openNode(store, { workers: way !== "streamed", leaseMs: 3_600_000 });
      const here = openServer({ runtime: first });
      // It has committed before it waits, and so held its thread by a claim.
      const body = hello("effect approve say");
      const run = way === "streamed" ? (await stream(here, body)).headers.get("x-run-id") : (await start(here, body)).body["runId"];
      const result = await resultOf(here, run);
      expect(result).toMatchObject({ status: "waiting", steps: 2 });
      const ticket = Object(result["tickets"])[0].id;
      expect(await peer.dispatches.list(threadId("t"), {})).toMatchObject([{ runId: run, status: "acked", attemptCount: 0 }]);
      await using other = openNode(peer, { workers: false });
      const there = openServer({ runtime: other });
      expect((await ask(there, "GET", `/v1/runs/${run}`)).body).toMatchObject({ status: "waiting" });
      expect(await ask(there, "POST", `/v1/tickets/${ticket}/decision`, { body: { action: "approve" } })).toMatchObject({ status: 202 });
      expect(await resultOf(there, run)).toMatchObject({ status: "done" });
    },
  );

  test("server-and-durability 45 and 54: what is said to another run than the one at work is queued; what a run did not read no other reads, and one that is over is 409", async () => {
    await using shared = await openShared(engine);
    const { runtime, response, runId: old } = await busy(shared.stores[0]);
    await using other = openNode(shared.stores[1], { workers: false });
    const server = openServer({ runtime: other });
    const { body: behind } = await start(server, hello("say behind"));
    expect(await tell(server, `/v1/runs/${behind["runId"]}/inputs`, "other", "steer")).toMatchObject({
      status: 202,
      body: { status: "queued" },
    });
    expect(await tell(server, `/v1/runs/${old}/inputs`, "alone", "steer")).toMatchObject({
      status: 202,
      body: { status: "steered", runId: old },
    });
    expect(await ask(server, "POST", `/v1/runs/${old}/cancel`)).toMatchObject({ status: 202 });
    expect(endOf(await readFrames(response))).toMatchObject({ runId: old, result: { status: "cancelled" } });
    expect(await tell(server, `/v1/runs/${old}/inputs`, "late", "steer")).toMatchObject({ status: 409, body: { code: "channel_closed" } });
    await using _worker = openNode(shared.stores[1], { workers: true });
    expect(await resultOf(server, behind["runId"])).toMatchObject({ status: "done" });
    await expect.poll(() => logOf(server)).toEqual(["effect say", "say behind", "say other"]);
    expect(await pendingOf(server)).toEqual(["alone"]);
    await runtime.close();
  });

  test("server-and-durability 53: the run at work reads what is for it and not what is queued before it; behind a barrier it reads nothing", async () => {
    await using shared = await openShared(engine);
    const { runtime, response, release, runId: old } = await busy(shared.stores[0]);
    await using other = openNode(shared.stores[1], { workers: false });
    const server = openServer({ runtime: other });
    const path = "/v1/threads/t/messages";
    expect(await tell(server, path, "later", "queue")).toMatchObject({ status: 202, body: { status: "queued" } });
    expect(await tell(server, path, "now", "steer")).toMatchObject({ status: 202, body: { status: "steered", runId: old } });
    release();
    expect(endOf(await readFrames(response))).toMatchObject({ result: { status: "done" } });
    expect(await logOf(server)).toEqual(["effect say", "say now"]);
    expect(await pendingOf(server)).toEqual(["later"]);
    await runtime.close();
  });

  test("server-and-durability 53: a barrier that is queued holds back what is for the run at work", async () => {
    await using shared = await openShared(engine);
    const { runtime, response, release } = await busy(shared.stores[0]);
    await using other = openNode(shared.stores[1], { workers: false });
    const server = openServer({ runtime: other });
    const path = "/v1/threads/t/messages";
    await tell(server, path, "first", "queue");
    const barrier = { body: { deliveryMode: { barrier: true } }, headers: { "if-match": '"1"' } };
    expect(await ask(server, "PATCH", "/v1/threads/t/pending/first", barrier)).toMatchObject({ status: 200 });
    await tell(server, path, "now", "steer");
    release();
    expect(endOf(await readFrames(response))).toMatchObject({ result: { status: "done" } });
    expect(await logOf(server)).toEqual(["effect say"]);
    expect(await pendingOf(server)).toEqual(["first", "now"]);
    await runtime.close();
  });

  test("server-and-durability 56: who follows from now on while others write is told each event once, and misses none", async () => {
    await using shared = await openShared(engine);
    await using runtime = openNode(shared.stores[0], { workers: false });
    await using _worker = openNode(shared.stores[1], { workers: true });
    const server = openServer({ runtime });
    const { body: past } = await start(server, hello("look say"));
    expect(await resultOf(server, past["runId"])).toMatchObject({ status: "done" });
    const [runs, following]: [unknown[], Response[]] = [[], []];
    for (let count = 0; count < 5; count++) {
      following.push(await server.fetch(request("GET", "/v1/threads/t/events/stream?from=now")));
      runs.push((await start(server, hello("look say"))).body["runId"]);
    }
    const readOne = (response: Response) => readFrames(response, ({ data }) => data.type === "run-end" && data.runId === runs.at(-1));
    const all = await readOne(await server.fetch(request("GET", "/v1/threads/t/events/stream")));
    const idsOf = (frames: typeof all) => frames.flatMap(({ id }) => (id === undefined ? [] : [id]));
    const whole = idsOf(all);
    for (const [index, response] of following.entries()) {
      const seen = await readOne(response);
      const ids = idsOf(seen);
      expect(ids).toEqual(whole.slice(-ids.length));
      const begun = seen.flatMap(({ data }) => (data.type === "run-start" ? [data.runId] : []));
      expect(begun, "what was over before").not.toContain(past["runId"]);
      expect(begun.slice(-(runs.length - index))).toEqual(runs.slice(index));
    }
  });
});
