import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { runId } from "@awaken/contract";
import { crashPoints, soleNode } from "@awaken/runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runChild } from "./support/child.ts";
import { freshSchema, type Server, startServer, tempFolder } from "./support/databases.ts";
import { bringToEnd, HOUSE_ANSWER, openHouse } from "./support/house.ts";
import { Outside } from "./support/outside.ts";
import { openStore, type Place } from "./support/place.ts";
import type { TreeOrder } from "./tree-process.ts";

/** One in so many commits, for each of the two stores another one; `AWAKEN_TREE_COMMITS=1` kills at all of them. */
const STRIDE = Number(process.env["AWAKEN_TREE_COMMITS"] ?? 6);

describe("three levels with an approval at the bottom", () => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test("multi-agent 62: on PostgreSQL, the process dies behind each commit; another one brings the tree to its end, and the effect happens once", async () => {
    await using store = await openStore({ type: "postgres", url: server.url, schema: freshSchema(server.url).name });
    // Whoever comes after a process that died knows that it did.
    const node = () => soleNode(crypto.randomUUID());
    for (let nth = 1; ; nth++) {
      const paid = new Map<string, number>();
      const payments = { add: (key: string) => void paid.set(key, (paid.get(key) ?? 0) + 1), has: (key: string) => paid.has(key) };
      const points = crashPoints({ at: "commit-end", nth, mode: "throw" });
      const dying = openHouse(points.commits(store, "commit", "transaction"), payments, { workers: false, node: node() });
      const run = dying.stream({ agent: "lead", thread: `t${nth}`, input: "go" });
      const first = await run.result.catch(() => undefined);
      if (first?.status === "waiting" && !points.hasCrashed) await bringToEnd(dying, run.id).catch(() => undefined);
      if (!points.hasCrashed) {
        expect(nth).toBeGreaterThan(15);
        return;
      }
      const isThere = (await store.runs.load(runId(run.id))) !== undefined;
      await using next = openHouse(store, payments, { node: node() });
      await next.recover();
      const ended = isThere ? await bringToEnd(next, run.id) : undefined;
      if (isThere) expect(ended, `commit ${nth}`).toMatchObject({ status: "done", text: HOUSE_ANSWER });
      expect([...paid.values()], `commit ${nth}`).toEqual(isThere ? [1] : []);
    }
  }, 300_000);

  test.each(["sqlite", "postgres"] as const)(
    "multi-agent 62: on %s, a process that is killed at a commit leaves a tree that this one decides about and brings to its end",
    async (type) => {
      using folder = tempFolder();
      const place: Place =
        type === "sqlite"
          ? { type, file: join(folder.path, "awaken.db") }
          : { type, url: server.url, schema: freshSchema(server.url).name };
      const outside = join(folder.path, "outside");
      writeFileSync(outside, "");
      const world = new Outside(outside);
      await using store = await openStore(place);
      await using next = openHouse(store, {
        add: (key) => void world.happen("here", key),
        has: (key) => world.underKey(key) !== undefined,
      });
      let trees = 0;
      for (let nth = type === "sqlite" ? 1 : 1 + Math.floor(STRIDE / 2); ; nth += STRIDE) {
        const thread = `t${nth}`;
        const order: TreeOrder = { place, outside, thread, at: nth % 2 === 0 ? "commit-start" : "commit-end", nth };
        const end = await runChild({ file: join(import.meta.dirname, "tree-process.ts"), order });
        if (end.type === "exit") {
          expect(nth).toBeGreaterThan(15);
          break;
        }
        trees += 1;
        await next.recover();
        expect(await bringToEnd(next, thread), `commit ${nth}`).toMatchObject({ status: "done", text: HOUSE_ANSWER });
        expect(new Set(world.effects().map(({ key }) => key)).size, `commit ${nth}`).toBe(trees);
        expect(world.effects(), `commit ${nth}`).toHaveLength(trees);
        expect(await store.runs.count({ rootRunId: runId(thread), statuses: ["created", "running", "waiting"] })).toBe(0);
      }
    },
    300_000,
  );
});
