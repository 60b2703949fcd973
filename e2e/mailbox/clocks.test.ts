import { once } from "node:events";
import { join } from "node:path";
import { runId, threadId } from "@awaken/contract";
import { createRuntime, defineTool, type RuntimeInit } from "awaken";
import { scripted, text } from "awaken/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { freshSchema, type Server, startServer } from "../durability/support/databases.ts";
import { openStore, type Place } from "../durability/support/place.ts";
import { startProgram } from "../durability/support/program.ts";

// Machines whose clocks do not agree, around one PostgreSQL.

const LEASE_MS = 30_000;
const MINUTE = 60_000;
const quick = defineTool({ id: "slow", description: "Lasts", input: z.object({}), idempotent: true, execute: () => "ran again" });

/** A process on a machine whose clock is so far ahead, when the tool of its run has begun; this one is elsewhere and can only tell by its lease. */
async function owning(place: Place, aheadMs: number) {
  const owner = startProgram(join(import.meta.dirname, "owner-process.ts"), { place, leaseMs: LEASE_MS, what: "lasts", aheadMs });
  await once(owner, "message");
  return owner;
}

const elsewhere = { name: "elsewhere", isGone: () => false };

describe("clocks that do not agree, on postgres", () => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  async function inPlace(aheadMs: number, init: Partial<RuntimeInit>, work: (scene: Scene) => Promise<void>): Promise<void> {
    await using schema = freshSchema(server.url);
    const place: Place = { type: "postgres", url: server.url, schema: schema.name };
    await using store = await openStore(place);
    const owner = await owning(place, aheadMs);
    await using ending = new AsyncDisposableStack();
    ending.defer(() => void owner.kill("SIGKILL"));
    await using other = createRuntime({
      providers: { scripted: scripted([text("ended by another")]) },
      models: { fast: { provider: "scripted", model: "m" } },
      agents: { default: { model: "fast" } },
      tools: [quick],
      log: { warn() {}, error() {} },
      node: elsewhere,
      store,
      ...init,
    });
    await work({ store, other, owner });
  }

  test.each([-MINUTE, MINUTE])(
    "server-and-durability 78: a live run is not taken, and its lease is no longer than it should be: %d ms",
    (aheadMs) =>
      inPlace(aheadMs, {}, async ({ store, other }) => {
        await other.recover();
        const [owner] = await store.queue.listConsumers();
        expect(owner?.name).not.toBe(elsewhere.name);
        expect(owner?.leaseEndsInMs).toBeGreaterThan(0);
        expect(owner?.leaseEndsInMs).toBeLessThanOrEqual(LEASE_MS);
        expect(await store.runs.load(runId("r"))).toMatchObject({ status: "running" });
        expect(await store.dispatches.list(threadId("t"), {})).toMatchObject([{ status: "claimed", attemptCount: 0 }]);
        await expect(other.run({ thread: "t", input: "me" })).rejects.toMatchObject({ code: "thread_already_running" });
      }),
    60_000,
  );

  test("server-and-durability 33: whoever thinks that the owner's lease is over, and is wrong, tells the owner to stop", () => {
    const timer = (ms: number, fire: () => void) => {
      const handle = setTimeout(fire, ms);
      return () => clearTimeout(handle);
    };
    const clock = { now: () => Date.now() + MINUTE, timer };
    return inPlace(0, { clock, workers: false }, async ({ other, owner }) => {
      const ended = once(owner, "message");
      expect(await other.run({ thread: "t", input: "me", onBusy: "interrupt" })).toMatchObject({
        status: "done",
        text: "ended by another",
      });
      expect((await ended)[0]).toMatchObject({ type: "ended", status: "cancelled" });
    });
  }, 60_000);
});

interface Scene {
  readonly store: Awaited<ReturnType<typeof openStore>>;
  readonly other: ReturnType<typeof createRuntime>;
  readonly owner: Awaited<ReturnType<typeof owning>>;
}
