import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { runId } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import { createRuntime, defineTool, type RuntimeInit } from "awaken";
import { scripted, text } from "awaken/testing";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { freshSchema, type Server, startServer, tempFolder } from "../durability/support/databases.ts";
import { openStore, type Place } from "../durability/support/place.ts";

const quick = defineTool({ id: "slow", description: "Lasts", input: z.object({}), idempotent: true, execute: () => "ran again" });

const open = (store: Store, init: Partial<RuntimeInit> = {}) =>
  createRuntime({
    providers: { scripted: scripted([text("ended by another")]) },
    models: { fast: { provider: "scripted", model: "m" } },
    agents: { default: { model: "fast" } },
    tools: [quick],
    log: { warn() {}, error() {} },
    store,
    ...init,
  });

const heard = async (owner: ChildProcess, type: string): Promise<object> => {
  for (;;) {
    const [message]: unknown[] = await once(owner, "message");
    if (typeof message === "object" && message !== null && "type" in message && message.type === type) return message;
  }
};

/** The owner, when its tool has begun. */
async function owning(place: Place, leaseMs = 30_000): Promise<ChildProcess> {
  const file = join(import.meta.dirname, "owner-process.ts");
  const owner = fork(file, [JSON.stringify({ place, leaseMs })], { execArgv: ["--conditions=awaken-source"] });
  await heard(owner, "began");
  return owner;
}

describe("runs of other processes", () => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test("the last transaction of a process that was killed is waited for, on postgres", async () => {
    await using schema = freshSchema(server.url);
    const place: Place = { type: "postgres", url: server.url, schema: schema.name };
    await using store = await openStore(place);
    const owner = await owning(place);
    owner.kill("SIGKILL");
    await once(owner, "exit");
    // What the database still does for the one who is gone.
    const last = new Client({ connectionString: server.url });
    await using ending = new AsyncDisposableStack();
    ending.defer(() => last.end());
    await last.connect();
    await last.query("BEGIN");
    expect((await last.query(`SELECT 1 FROM "${schema.name}".dispatch FOR UPDATE`)).rowCount).toBe(1);
    await using other = open(store, { workers: false });
    const result = other.run({ thread: "t", input: "me" });
    await Promise.race([result, new Promise((resolve) => setTimeout(resolve, 300))]);
    await last.query("COMMIT");
    expect(await result).toMatchObject({ status: "done", text: "ended by another" });
  });

  for (const engine of ["sqlite", "postgres"] as const) {
    const inPlace = async (work: (place: Place, store: Store) => Promise<void>) => {
      using folder = tempFolder();
      await using schema = freshSchema(server.url);
      const place: Place =
        engine === "sqlite"
          ? { type: "sqlite", file: join(folder.path, "awaken.db") }
          : { type: "postgres", url: server.url, schema: schema.name };
      await using store = await openStore(place);
      await work(place, store);
    };

    test(
      `server-and-durability 78: a run whose process was killed is taken up by a worker without anybody asking; a live one is not, on ${engine}`,
      () =>
        inPlace(async (place, store) => {
          const owner = await owning(place);
          await using worker = open(store);
          await worker.recover();
          await expect(worker.run({ thread: "t", input: "me" })).rejects.toMatchObject({ code: "thread_already_running" });
          expect(await store.runs.load(runId("r"))).toMatchObject({ status: "running" });
          owner.kill("SIGKILL");
          await once(owner, "exit");
          await worker.recover();
          expect(await worker.wait("r")).toMatchObject({ status: "done", text: "ended by another" });
        }),
      60_000,
    );

    test(
      `a process that only stopped for longer than its lease loses its run, and can write nothing when it comes back, on ${engine}`,
      () =>
        inPlace(async (place, store) => {
          const owner = await owning(place, 1_000);
          owner.kill("SIGSTOP");
          await using worker = open(store, { leaseMs: 1_000 });
          expect(await worker.wait("r")).toMatchObject({ status: "done", text: "ended by another" });
          const before = await store.runs.load(runId("r"));
          owner.kill("SIGCONT");
          expect(await heard(owner, "ended")).toMatchObject({ status: "failed" });
          expect(await store.runs.load(runId("r"))).toEqual(before);
          owner.kill("SIGKILL");
        }),
      60_000,
    );

    test(
      `server-and-durability 76: cancel reaches a run that another process executes, on ${engine}`,
      () =>
        inPlace(async (place, store) => {
          const owner = await owning(place);
          await using other = open(store, { workers: false });
          const ended = heard(owner, "ended");
          expect(await other.cancel("t")).toBe(true);
          expect(await ended).toMatchObject({ status: "cancelled" });
          expect(await other.wait("r")).toMatchObject({ status: "cancelled" });
          owner.kill("SIGKILL");
        }),
      60_000,
    );
  }
});
