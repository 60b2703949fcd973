import { join } from "node:path";
import { createRuntime } from "@awaken/runtime";
import { type FakeClock, fakeClock, scripted, text, toolCall } from "@awaken/runtime/testing";
import { sqliteStore } from "@awaken/stores/sqlite";
import { expect, test, vi } from "vitest";
import { atEnd, badServer, folder } from "./mcp.test-support.ts";
import { mcp } from "./mcp.ts";

/** A process of its own, as far as its runs are concerned. */
function node(
  file: string,
  server: ReturnType<typeof badServer>["server"],
  turns: Parameters<typeof scripted>[0],
  more: { readonly clock?: FakeClock; readonly leaseMs?: number; readonly workers?: boolean } = {},
) {
  const store = sqliteStore(file);
  const runtime = createRuntime({
    providers: { main: scripted(turns) },
    models: { fast: { provider: "main", model: "up" } },
    agents: { assistant: { model: "fast", plugins: ["mcp"] } },
    plugins: [mcp({ servers: { s: server } })],
    store,
    cancelGraceMs: 10,
    log: { warn() {}, error() {} },
    ...more,
  });
  atEnd(async () => {
    let isClosed = false;
    const closing = Promise.resolve(runtime[Symbol.asyncDispose]()).then(() => {
      isClosed = true;
    });
    // A clock that stands still must go on for whatever the end waits for.
    while (!isClosed && more.clock !== undefined) {
      await more.clock.advance(1_000);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await closing;
    await store.close();
  });
  return { runtime, store };
}

test("a call whose process was cut off is claimed in the ledger: it is never sent twice, a person is asked what became of it", async () => {
  const file = join(folder(), "awaken.db");
  const { server, sent } = badServer();
  // Its clock stands still, so that its lease runs out as that of a process that is gone.
  const first = node(file, server, [toolCall("mcp__s__hang", {})], { clock: fakeClock(Date.now()), leaseMs: 200 });
  const run = first.runtime.stream({ agent: "assistant", thread: "t", input: "go" });
  await vi.waitFor(() => expect(sent("tools/call")).toHaveLength(1), 10_000);
  const second = node(file, server, [text("I see")], { workers: false });
  const taken = await vi.waitFor(() => second.runtime.resume(run.id), { timeout: 120_000, interval: 100 });
  expect(taken.status).toBe("waiting");
  if (taken.status !== "waiting") return;
  const [ticket] = taken.tickets;
  expect(ticket).toMatchObject({ toolName: "mcp__s__hang" });
  const decided = await second.runtime.decide(ticket?.id ?? "", { action: "answer", result: "it was done by hand" });
  expect(await decided.result).toMatchObject({ status: "done", text: "I see" });
  expect(sent("tools/call")).toHaveLength(1);
});

test("a tool whose server is trusted to know that it is idempotent is run again", async () => {
  const { server } = badServer("hints");
  const plain = mcp({ servers: { s: server } });
  const trusting = mcp({ id: "trusting", servers: { t: { ...server, trustHints: true } } });
  const runtime = createRuntime({
    providers: { main: scripted([]) },
    models: { fast: { provider: "main", model: "up" } },
    agents: { assistant: { model: "fast", plugins: ["mcp", "trusting"] } },
    plugins: [plain, trusting],
  });
  atEnd(async () => {
    await runtime[Symbol.asyncDispose]();
  });
  await runtime.initialize();
  const { tools } = runtime.resolver.open().resolve("assistant");
  const traits = (id: string) => {
    const { pure, idempotent, dynamic } = tools.get(id)?.traits ?? {};
    return { pure, idempotent, dynamic };
  };
  expect(traits("mcp__s__reads")).toEqual({ pure: false, idempotent: false, dynamic: true });
  expect(traits("mcp__t__reads")).toEqual({ pure: true, idempotent: true, dynamic: true });
});
