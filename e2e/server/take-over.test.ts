import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runId, threadId } from "@awaken/contract";
import type { QueueStore, ThreadCommit } from "@awaken/contract/store";
import { defineTool } from "@awaken/runtime";
import { serve } from "@awaken/server";
import { afterAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { tempFolder } from "../durability/support/databases.ts";
import { openStore } from "../durability/support/place.ts";
import { openPlace, openShared, stopServer } from "../relay/support/nodes.ts";
import { openNode, quiet } from "../relay/support/speaker.ts";
import { busy, endOf, hello } from "./support/busy.ts";
import { ask, openServer, readFrames, request } from "./support/client.ts";
import { held } from "./support/named.ts";
import { Follower, startProcess } from "./support/process.ts";

// Runs that come from one server to another.

afterAll(stopServer);

const WORDS = "one two three äöü 😀 five.";
const T = threadId("t");
const json = (body: object) => ({ method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
const startAt = async (url: string, words: string): Promise<string> =>
  (await (await fetch(`${url}/v1/runs/start`, json(hello(words)))).json()).runId;

/** Told before each commit. */
function before(store: QueueStore, work: (commit: ThreadCommit) => Promise<void>): QueueStore {
  const wrap = <Records extends Pick<QueueStore, "commit">>(records: Records): Records => ({
    ...records,
    async commit(...given: Parameters<QueueStore["commit"]>) {
      await work(given[0]);
      return records.commit(...given);
    },
  });
  return { ...wrap(store), scoped: (scope) => wrap(store.scoped(scope)) };
}

/** Nobody is told what others left before `told`. */
const untold = (store: QueueStore, told: Promise<void>): QueueStore => ({
  ...store,
  queue: { ...store.queue, listConsumers: () => told.then(() => store.queue.listConsumers()) },
});

describe.each(["sqlite", "postgres"] as const)("runs that go on at another server, on %s", (engine) => {
  test("server-and-durability 47: a server that leaves during a run is not ready first; the claim is given back at the cost of no attempt, and another node goes on from the last commit", async () => {
    await using shared = await openShared(engine);
    const [store, peer] = shared.stores;
    const [began, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let calls = 0;
    const effect = defineTool({
      id: "effect",
      description: "Takes its time.",
      input: z.object({ n: z.number() }),
      async execute() {
        calls += 1;
        began.resolve();
        await gate.promise;
        return "done";
      },
    });
    const node = { workers: true, tools: [effect] };
    const server = await serve(held({ runtime: openNode(store, node), port: 0, log: quiet, graceMs: 600_000 }));
    const run = await startAt(server.url, "effect say");
    await began.promise;
    const status = async (path: string) => (await fetch(`${server.url}${path}`)).status;
    await expect.poll(() => status("/health")).toBe(200);
    const leaving = server.close();
    await expect.poll(() => status("/health")).toBe(503);
    expect(await status("/health/live")).toBe(200);
    gate.resolve();
    await leaving;
    expect(await peer.dispatches.list(T, {})).toMatchObject([{ runId: run, status: "queued", attemptCount: 0 }]);
    expect(await peer.runs.load(runId(run))).toMatchObject({ status: "running", steps: 1 });
    await using other = openNode(peer, node);
    const there = openServer({ runtime: other });
    expect((await ask(there, "GET", `/v1/runs/${run}/result`)).body).toMatchObject({ status: "done", text: WORDS, steps: 2 });
    expect(calls, "what was committed is not done again").toBe(1);
    const rows = await peer.dispatches.list(T, {});
    expect(rows.map(({ status: each, attemptCount }) => [each, attemptCount])).toEqual([["acked", 0]]);
  });

  test("server-and-durability 48: two servers that start at once after a crash are ready when they have recovered, and execute each dispatch once", async () => {
    await using place = await openPlace(engine);
    using folder = tempFolder();
    const journal = join(folder.path, "journal");
    const first = await startProcess({ place: place.at, port: 0, journal });
    const runs = [await startAt(first.url, "effect slow"), await startAt(first.url, "effect say"), await startAt(first.url, "effect say")];
    // One is cut in the middle of an answer, the others are queued behind it.
    const client = new Follower();
    await client.read(await client.again(first.url, runs[0] ?? ""), (_, { text }) => text.startsWith("one two"));
    await first.kill();
    const stores = [await openStore(place.at), await openStore(place.at)];
    const done: string[] = [];
    const told = Promise.withResolvers<void>();
    const node = { workers: true, leaseMs: 1_000 };
    const nodes = stores.map((store) => openNode(untold(store, told.promise), node, (line) => void done.push(line)));
    const servers = nodes.map((runtime) => openServer({ runtime }));
    const health = () => Promise.all(servers.map(async (server) => (await ask(server, "GET", "/health")).status));
    expect(await health(), "the store answers, and nothing is taken up yet").toEqual([503, 503]);
    told.resolve();
    await expect.poll(health).toEqual([200, 200]);
    for (const [index, run] of runs.entries()) {
      const server = servers[index % 2] ?? expect.fail();
      expect((await ask(server, "GET", `/v1/runs/${run}/result`)).body).toMatchObject({ status: "done", text: WORDS });
      const all = await readFrames(await server.fetch(request("GET", `/v1/runs/${run}/events/stream`)));
      expect(all.filter(({ data }) => data.type === "run-start")).toHaveLength(index === 0 ? 2 : 1);
      expect(all.filter(({ data }) => data.type === "tool-call-end")).toHaveLength(1);
    }
    expect([readFileSync(journal, "utf8"), done]).toEqual(["effect 3\n", ["effect 3", "effect 3"]]);
    const rows = (await stores[0]?.dispatches.list(T, {})) ?? [];
    expect(rows.filter(({ status }) => status === "queued" || status === "claimed")).toEqual([]);
    for (const runtime of nodes) await runtime.close();
    for (const store of stores) await store.close();
  });

  test("server-and-durability 55: a message that is taken back while a run takes it in is answered by nobody, and the run names no other", async () => {
    await using shared = await openShared(engine);
    const [store, peer] = shared.stores;
    await using other = openNode(peer, { workers: false });
    const server = openServer({ runtime: other });
    let tries = 0;
    const racing = before(store, async ({ pending }) => {
      if (pending?.consume === undefined || ++tries > 1) return;
      const taken = await ask(server, "DELETE", "/v1/threads/t/pending/one", { headers: { "if-match": '"1"' } });
      expect(taken.status).toBe(204);
    });
    const { runtime, response, release, runId: run } = await busy(racing);
    for (const id of ["one", "two"]) {
      const body = { messages: [{ role: "user", content: `say ${id}`, id }], mode: "steer" };
      expect(await ask(server, "POST", "/v1/threads/t/messages", { body })).toMatchObject({ body: { status: "steered", runId: run } });
    }
    release();
    expect(endOf(await readFrames(response))).toMatchObject({ type: "run-end", result: { status: "done" } });
    expect(tries, "it was read again").toBe(2);
    const { items } = await peer.messages.list(T, { limit: 200 });
    const said = items.flatMap(({ message }) => (message.role === "user" ? [message.id] : []));
    expect(said.slice(1)).toEqual(["two"]);
    expect((await peer.runs.load(run))?.input.triggerMessageIds).toEqual(said);
    expect((await ask(server, "GET", "/v1/threads/t/pending")).body).toMatchObject({ entries: [] });
    await runtime.close();
  });
});
