import { join } from "node:path";
import { runId } from "@awaken/contract";
import type { Runtime } from "awaken";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { LeaverOrder, Way } from "./leaver-process.ts";
import { runChild } from "./support/child.ts";
import { freshSchema, type Server, startServer, tempFolder } from "./support/databases.ts";
import { openHouse } from "./support/house.ts";
import { openStore, type Place } from "./support/place.ts";

const WAYS: readonly Way[] = ["begin another", "interrupt", "go on with something else", "cancel", "rewind"];

/** A tree of three that waits for people is left, and the process that does so is killed behind one of its commits. */
describe.each(["sqlite", "postgres"] as const)("a tree that nobody waits for any more, on %s", (type) => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test.each(WAYS)(
    "ends, whichever commit the process is killed behind: %s",
    async (way) => {
      using folder = tempFolder();
      const place: Place =
        type === "sqlite"
          ? { type, file: join(folder.path, "awaken.db") }
          : { type, url: server.url, schema: freshSchema(server.url).name };
      await using store = await openStore(place);
      const nobody = { add: () => expect.fail("nobody has decided"), has: () => false };
      const openOf = async (root: string) => store.runs.count({ rootRunId: runId(root), statuses: ["created", "running", "waiting"] });
      const statusOf = async (root: string) => (await store.runs.load(runId(root)))?.status;
      /** One that is told to stop just when it begins to wait does that, and is told once more. */
      const end = async (runtime: Runtime, root: string) => {
        await expect.poll(() => runtime.cancelAndWait(root).then(() => statusOf(root))).toBe("done");
      };
      for (let nth = 1; ; nth++) {
        const [thread, root, asked] = [`t${nth}`, `root${nth}`, `asked${nth}`];
        await using house = openHouse(store, nobody, { workers: false });
        await house.run({ agent: "lead", thread, runId: root, input: [{ id: asked, role: "user", content: "go" }] });
        const family = (await store.runs.list({ rootRunId: runId(root) })).items.map((run) => run.runId);
        expect(family).toHaveLength(2);
        const order: LeaverOrder = { place, thread, root, asked, way, nth };
        const left = await runChild({ file: join(import.meta.dirname, "leaver-process.ts"), order });
        const isLeft = way === "go on with something else" || (await statusOf(root)) === "done";
        await using next = openHouse(store, nobody);
        await next.recover();
        if (!isLeft) await end(next, root);
        const areOver = async () => (await Promise.all(family.map((id) => store.runs.load(id)))).map((run) => run?.status);
        await expect.poll(areOver, { message: `commit ${nth}`, timeout: 10_000 }).toEqual(["done", "done"]);
        await end(next, root);
        await expect.poll(() => openOf(root), { timeout: 10_000 }).toBe(0);
        expect(await store.runs.listOpenTickets(runId(root))).toEqual([]);
        if (left.type === "killed") continue;
        expect(nth).toBeGreaterThan(1);
        return;
      }
    },
    120_000,
  );
});
