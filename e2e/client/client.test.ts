import { type AttachedEvent, createClient } from "@awaken/client";
import { text } from "@awaken/runtime/testing";
import { afterAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { ENGINES, openShared, stopServer } from "../relay/support/nodes.ts";
import { openNode, speaker } from "../relay/support/speaker.ts";
import { openServer } from "../server/support/client.ts";

afterAll(stopServer);

const URL_ = "http://localhost:1";
const WORDS = "one two three äöü 😀 five.";

/** What a screen shows of a stream: `stream-reset` takes back what is not on record. */
function screenOf(events: readonly AttachedEvent[]): string {
  let kept = "";
  let open = "";
  for (const event of events) {
    if (event.type === "text-delta") open += event.delta;
    if (event.type === "stream-reset") open = "";
    if (event.cursor === undefined) continue;
    kept += open;
    open = "";
  }
  return kept + open;
}

const factsOf = (events: readonly AttachedEvent[]) =>
  events.filter(({ type }) => ["run-start", "inference-end", "tool-call-ready", "tool-call-end", "run-end", "ticket-open"].includes(type));

async function collect(events: AsyncIterable<AttachedEvent>, isLast: (event: AttachedEvent) => boolean = () => false) {
  const seen: AttachedEvent[] = [];
  for await (const event of events) {
    seen.push(event);
    if (isLast(event)) break;
  }
  return seen;
}

const isEnd = ({ type }: AttachedEvent) => type === "run-end";

describe.each(ENGINES)("the client on %s", (engine) => {
  test("run, stream, decide with another input, wait, cancel, send: as if the runtime were here", async () => {
    await using shared = await openShared(engine);
    await using runtime = openNode(shared.stores[0]);
    const server = openServer({ runtime });
    const client = createClient({ url: URL_, fetch: server.fetch });

    const result = await client.run({ agent: "assistant", thread: "t", input: "look say" });
    expect(result).toMatchObject({ status: "done", text: WORDS, steps: 2, threadId: "t" });

    const asking = client.stream({ thread: "t", input: "approve say" });
    const events = await collect(asking);
    const waiting = await asking.result;
    if (waiting.status !== "waiting") return expect.fail(waiting.status);
    expect(events.at(-1)).toMatchObject({ type: "run-end", result: { status: "waiting" } });
    expect(await asking.id).toBe(waiting.runId);
    const ticket = waiting.tickets[0]?.id ?? expect.fail();
    const decided = await client.decide(ticket, { action: "approve", input: { n: 40 }, by: "ana", id: "once" });
    const after = await collect(decided);
    expect(after[0]).toMatchObject({ type: "decision-taken", ticketId: ticket, by: "ana" });
    expect(after.find(({ type }) => type === "tool-call-resumed")).toMatchObject({ result: { allowed: 40 } });
    expect(screenOf(after)).toBe(WORDS);
    expect(await decided.result).toMatchObject({ status: "done", text: WORDS });
    // The same click again decides nothing.
    expect(await (await client.decide(ticket, { action: "approve", input: { n: 40 }, by: "ana", id: "once" })).result).toMatchObject({
      status: "done",
    });
    await expect(client.decide(ticket, { action: "deny" })).rejects.toMatchObject({ code: "ticket_not_open" });

    // By its call, which the run knows; it waits again, and nobody waits for ever.
    const twice = await client.run({ thread: "t4", agent: "assistant", input: "approve approve say" });
    if (twice.status !== "waiting") return expect.fail(twice.status);
    const open = twice.tickets[0] ?? expect.fail();
    const byCall = await client.decide(open.toolCallId, { action: "approve", run: twice.runId, id: "first" });
    expect((await collect(byCall))[0]).toMatchObject({ type: "decision-taken", ticketId: open.id });
    expect(await byCall.result).toMatchObject({ status: "waiting" });
    const same = await client.decide(open.toolCallId, { action: "approve", run: twice.runId, id: "first" });
    expect((await collect(same))[0]).toMatchObject({ type: "decision-taken", ticketId: open.id });

    const slow = client.stream({ thread: "t2", agent: "assistant", input: "slow" });
    for await (const event of slow) if (event.type === "text-delta") break;
    expect(await client.cancel(await slow.id)).toBe(true);
    expect(await slow.result).toMatchObject({ status: "cancelled" });
    expect(await client.cancel("nobody")).toBe(false);

    const { runId } = await client.start({ agent: "assistant", thread: "t3", input: "say" });
    expect(await client.wait(runId)).toMatchObject({ status: "done", text: WORDS });
    expect(await client.send("t3", "say", { mode: "queue" })).toMatchObject({ status: "queued", threadId: "t3" });
    await collect(client.attach("t3"), (event) => event.type === "run-end" && event.runId !== runId);

    const page = await client.threads.list({ limit: 2 });
    expect(page.items).toHaveLength(2);
    expect(page.hasMore).toBe(true);
    expect((await client.threads.messages("t3")).items.map(({ message }) => message.role)).toEqual([
      "user",
      "assistant",
      "user",
      "assistant",
    ]);
    expect(await client.runs.load(runId)).toMatchObject({ status: "done", threadId: "t3" });
    await server.close();
  });

  test("a connection that breaks anywhere is made again: each fact comes once, and the screen has what is on record", async () => {
    await using shared = await openShared(engine);
    await using runtime = openNode(shared.stores[0]);
    await using other = openNode(shared.stores[1]);
    const servers = [openServer({ runtime }), openServer({ runtime: other })];
    let requests = 0;
    let cutAt = 0;
    /** Cuts each stream after so many bytes, and asks another node each time. */
    const fetch = async (request: Request): Promise<Response> => {
      const response = await (servers[requests++ % 2] ?? expect.fail()).fetch(request);
      if (response.headers.get("content-type")?.includes("event-stream") !== true || response.body === null) return response;
      let left = cutAt;
      cutAt *= 3;
      const cut = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          if (chunk.byteLength > left) {
            controller.enqueue(chunk.slice(0, left));
            controller.error(new Error("connection reset"));
            return;
          }
          left -= chunk.byteLength;
          controller.enqueue(chunk);
        },
      });
      return new Response(response.body.pipeThrough(cut), response);
    };
    for (const bytes of [20, 150, 333, 700]) {
      cutAt = bytes;
      requests = 0;
      const thread = `cut-${bytes}`;
      const run = createClient({ url: URL_, fetch }).stream({ agent: "assistant", thread, input: "look effect say" });
      const seen = await collect(run);
      expect(requests).toBeGreaterThan(2);
      const whole = await collect(createClient({ url: URL_, fetch: servers[0]?.fetch ?? expect.fail() }).attach(await run.id));
      const plain = (events: readonly AttachedEvent[]) => factsOf(events).map(({ cursor: _, ...event }) => event);
      expect(plain(seen), `cut after ${bytes}`).toEqual(plain(whole));
      expect(screenOf(seen)).toBe(`Let me look. ${WORDS}`);
      expect(await run.result).toMatchObject({ status: "done", text: WORDS });
    }
    for (const server of servers) await server.close();
  });
});

describe("the client", () => {
  const open = async () => {
    const shared = await openShared("memory");
    const runtime = openNode(shared.stores[0], { providers: { house: speaker(() => text('{"city":"Oslo"}')) } });
    return { runtime, server: openServer({ runtime }), shared };
  };

  test("an answer that was lost on its way is asked for again, and is the same run", async () => {
    const { runtime, server } = await open();
    let sent = 0;
    const fetch = async (request: Request): Promise<Response> => {
      const response = await server.fetch(request);
      if (new URL(request.url).pathname !== "/v1/runs" || ++sent > 1) return response;
      await response.body?.cancel();
      throw new TypeError("fetch failed");
    };
    expect(await createClient({ url: URL_, fetch }).run({ thread: "t", input: "Where?" })).toMatchObject({ status: "done" });
    expect(sent).toBe(2);
    expect((await createClient({ url: URL_, fetch: server.fetch }).threads.runs("t")).items).toHaveLength(1);
    await runtime.close();
  });

  test("typed output is checked here; one that is not JSON is refused by the server's code", async () => {
    const { runtime, server } = await open();
    const client = createClient({ url: URL_, fetch: server.fetch });
    const result = await client.run({ input: "Where?", output: z.object({ city: z.string() }) });
    if (result.status !== "done") return expect.fail(result.status);
    const city: string = result.output.city;
    expect(city).toBe("Oslo");
    await runtime.close();
  });

  test("what is refused has the code of the runtime; the key goes with every request and into no error", async () => {
    const { runtime } = await open();
    const server = openServer({
      runtime,
      access: (head) => (head.headers.get("authorization") === "Bearer s3cret" ? { scopeId: "a" } : undefined),
    });
    const client = createClient({ url: URL_, fetch: server.fetch, token: async () => "s3cret" });
    await expect(client.wait("nobody")).rejects.toMatchObject({ code: "run_not_found" });
    await expect(client.run({ agent: "ghost", input: "hi" })).rejects.toMatchObject({ code: "agent_not_found" });
    await expect(collect(client.attach("nobody"))).rejects.toMatchObject({ code: "run_not_found" });
    await expect(client.threads.load("nobody")).rejects.toMatchObject({ code: "thread_not_found" });
    await expect(client.decide("nothing", { action: "approve" })).rejects.toMatchObject({ code: "ticket_not_found" });
    const stranger = createClient({ url: URL_, fetch: server.fetch, token: "wr0ng" });
    const refused = await stranger.run({ input: "hi" }).catch((thrown: unknown) => thrown);
    expect(refused).toMatchObject({ code: "unauthorized" });
    expect(String(refused)).not.toContain("wr0ng");
    for (const url of ["/api", "localhost:3000", "ftp://localhost"]) expect(() => createClient({ url })).toThrow("must be absolute");
    const page = createClient({ url: URL_, fetch: async () => new Response("<html>Not found</html>", { status: 404 }) });
    await expect(page.wait("r")).rejects.toMatchObject({ code: "internal", message: expect.stringContaining("404") });
    await runtime.close();
  });

  test("a signal ends the reading and not the run", async () => {
    const shared = await openShared("memory");
    await using runtime = openNode(shared.stores[0]);
    const server = openServer({ runtime });
    const client = createClient({ url: URL_, fetch: server.fetch });
    const leaving = new AbortController();
    const run = client.stream({ agent: "assistant", thread: "t", input: "slow" });
    const id = await run.id;
    const seen = await collect(client.attach("t", { signal: leaving.signal }), ({ type }) => {
      if (type === "text-delta") leaving.abort();
      return false;
    });
    expect(seen.some(isEnd)).toBe(false);
    expect(await client.wait(id)).toMatchObject({ status: "done", text: WORDS });
  });
});
