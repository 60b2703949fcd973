import { ask, defineTool, type Runtime } from "@awaken/runtime";
import { createServer } from "@awaken/server";
import { expect, test } from "vitest";
import * as z from "zod";
import { openShared } from "../relay/support/nodes.ts";
import { openNode, quiet } from "../relay/support/speaker.ts";

// Pages that come back to a thread at the very moment at which something happens there.

type Store = Awaited<ReturnType<typeof openShared>>["stores"][0];
type Records = ReturnType<Store["scoped"]>;

interface Frame {
  readonly type: string;
  readonly [name: string]: unknown;
}

const framesOf = async (response: Response): Promise<readonly Frame[]> =>
  (await response.text()).split("\n").flatMap((line) => (line.startsWith("data: ") ? [JSON.parse(line.slice(6))] : []));

/** What the server reads of the store is as `change` makes it. */
function serving(runtime: Runtime, store: Store, change: (records: Records) => Records) {
  const scoped = (id: Parameters<Store["scoped"]>[0]) => change(store.scoped(id));
  const served = { scoped: runtime.scoped, recover: runtime.recover, watch: runtime.watch, store: { ...store, scoped } };
  return createServer({ runtime: served, access: "open", log: quiet });
}

const comeBack = (server: ReturnType<typeof createServer>) =>
  server.fetch(new Request("http://localhost/v1/ag-ui/threads/t/stream?protocolVersion=1.0"));

const n = z.object({ n: z.number() });

/** A run that is at work in a tool until it is released, and asks something then. */
async function working(words: string) {
  const shared = await openShared("memory");
  const [store] = shared.stores;
  const began = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const runtime = openNode(store, {
    workers: false,
    tools: [
      defineTool({
        id: "effect",
        description: "Lasts until it is released",
        input: n,
        idempotent: true,
        async execute() {
          began.resolve();
          await end.promise;
          return "done";
        },
      }),
      defineTool({ id: "look", description: "Looks", input: n, pure: true, execute: () => "seen" }),
      defineTool({ id: "approve", description: "Asks first", input: n, approve: () => ask("May I?"), execute: () => "allowed" }),
    ],
  });
  const run = runtime.stream({ thread: "t", input: words });
  const park = async () => {
    end.resolve();
    expect(await runtime.wait(run.id, { timeoutMs: 30_000 })).toMatchObject({ status: "waiting" });
  };
  const close = async () => {
    await runtime.close();
    await shared[Symbol.asyncDispose]();
  };
  return { runtime, store, run, began: began.promise, park, [Symbol.asyncDispose]: close };
}

const ASKS = [{ type: "RUN_FINISHED", outcome: { type: "interrupt", interrupts: [{ message: "May I?" }] } }];

test("a run that parks while a page comes back is told as it stands: the page is asked", async () => {
  await using site = await working("effect approve say");
  await site.began;
  const server = serving(site.runtime, site.store, (records) => ({
    ...records,
    messages: {
      ...records.messages,
      async list(...asked) {
        await site.park();
        return records.messages.list(...asked);
      },
    },
  }));
  expect((await framesOf(await comeBack(server))).slice(-1)).toMatchObject(ASKS);
  await server.close();
});

test("the same for an answer that was given before: what waits since is asked", async () => {
  await using site = await working("approve effect approve say");
  const first = await site.run.result;
  const ticket = first.status === "waiting" ? first.tickets[0]?.id : undefined;
  if (ticket === undefined) return expect.fail();
  await site.runtime.decide(ticket, { action: "approve" });
  await site.began;
  const server = serving(site.runtime, site.store, (records) => ({
    ...records,
    runs: {
      ...records.runs,
      async loadLatest(...asked) {
        const latest = await records.runs.loadLatest(...asked);
        await site.park();
        return latest;
      },
    },
  }));
  const body = {
    threadId: "t",
    runId: "r",
    agentId: "assistant",
    protocolVersion: "1.0",
    messages: [],
    resume: [{ interruptId: ticket, status: "resolved", payload: { approved: true } }],
  };
  const headers = { "content-type": "application/json" };
  const again = new Request("http://localhost/v1/ag-ui/run", { method: "POST", headers, body: JSON.stringify(body) });
  expect((await framesOf(await server.fetch(again))).slice(-1)).toMatchObject(ASKS);
  await server.close();
});

test("a run that was not begun yet is followed: its page hears it begin, speak and end", async () => {
  await using shared = await openShared("memory");
  const [store] = shared.stores;
  await using runtime = openNode(store, { workers: false });
  const { runId } = await runtime.start({ thread: "t", input: "say" });
  const server = createServer({ runtime, access: "open", log: quiet });
  const response = await comeBack(server);
  await using _worker = openNode(store, { workers: true });
  const frames = await framesOf(response);
  expect(frames[0]).toMatchObject({ type: "RUN_STARTED", runId });
  expect(frames.flatMap(({ type, delta }) => (type === "TEXT_MESSAGE_CONTENT" ? [delta] : [])).join("")).toContain("one two three");
  expect(frames.filter(({ type }) => type === "RUN_FINISHED")).toHaveLength(1);
  expect(frames.at(-1)).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "success" } });
  await server.close();
});
