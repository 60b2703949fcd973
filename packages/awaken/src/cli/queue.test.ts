import { join } from "node:path";
import { threadId } from "@awaken/contract";
import { ask, defineTool } from "@awaken/runtime";
import { scripted, text, toolCall } from "@awaken/runtime/testing";
import { serve } from "@awaken/server";
import { sqliteStore } from "@awaken/stores/sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { createRuntime } from "../create-runtime.ts";
import { cli, cliAll, Folders, jsonLines } from "./test-cli.ts";

const folders = new Folders();
afterAll(() => folders[Symbol.dispose]());

const pay = defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });

describe("the queue of a store", () => {
  let store = "";
  const ids = { queued: "", held: "", dead: "", lost: "" };
  /** A folder without a config: `--store` alone has to be enough. */
  let elsewhere = "";
  const read = (...args: readonly string[]) => cli([...args, "--store", store], { cwd: elsewhere });

  beforeAll(async () => {
    elsewhere = folders.empty();
    store = join(folders.empty(), "awaken.db");
    await using records = sqliteStore(store);
    await using runtime = createRuntime({
      providers: { scripted: scripted([toolCall("pay", {}), text("paid")]) },
      models: { fast: { provider: "scripted", model: "m" } },
      agents: { assistant: { model: "fast" } },
      tools: [pay],
      workers: false,
      store: records,
    });
    const start = async (thread: string) => (await runtime.start({ agent: "assistant", thread, input: "x" })).runId;
    const claim = async (thread: string) =>
      (await records.dispatches.claim(threadId(thread), { consumer: "host-7/boot/4711", leaseMs: 600_000 }))?.dispatch ?? expect.fail();
    await runtime.run({ agent: "assistant", thread: "waits", input: "pay" });
    await runtime.send("waits", "and hurry", { mode: "queue" });
    ids.queued = await start("t1");
    ids.held = await start("t2");
    await claim("t2");
    for (const which of ["dead", "lost"] as const) {
      ids[which] = await start(which);
      await records.dispatches.deadLetter(await claim(which), `the disk is full\nof ${which}`);
    }
  });

  it("queue: what waits, who has what, and messages that no run has read", async () => {
    const { code, stdout, stderr } = await read("queue");
    expect(code).toBe(0);
    const [head, ...rows] = stdout.trimEnd().split("\n");
    expect(head).toMatch(/^RUN +THREAD +STATUS +WHEN +BY +FAILED +PENDING +QUEUED \(UTC\)$/);
    expect(rows).toHaveLength(5);
    expect(rows[0]).toMatch(new RegExp(`^${ids.queued} +t1 +queued +due +- +0 of 5 +1 +\\d{4}-`));
    expect(rows[1]).toMatch(new RegExp(`^${ids.held} +t2 +claimed +lease \\d{3} s +host-7/boot/4711 +0 of 5 +1 +\\d{4}-`));
    // Behind a decision, and of what is dead.
    for (const row of rows.slice(2)) expect(row).toMatch(/^- +(?:waits|dead|lost) +pending +- +- +- +1 +\d{4}-/);
    expect(stderr).toBe("2 dead letters: `awaken dead-letters` lists them\n");
    const lines = jsonLines((await read("queue", "--json")).stdout);
    expect(lines.map(({ type, threadId: id }) => [type, id])).toEqual([
      ["dispatch", "t1"],
      ["dispatch", "t2"],
      ...["t1", "t2", "dead", "lost", "waits"].map((id) => ["pending", id]),
    ]);
    expect(JSON.stringify(lines)).not.toContain("claimToken");
    expect((await read("queue", "--limit", "1")).stderr).toContain("the first 1: --limit shows more");
  });

  it("dead-letters: listed, replayed and dropped, by a part of the id", async () => {
    const table = await read("dead-letters");
    expect(table.stdout.split("\n")[0]).toMatch(/^DEAD LETTER +RUN +THREAD +FAILED +DIED \(UTC\) +WHY$/);
    expect(table.stdout.split("\n")[1]).toMatch(new RegExp(`^${ids.dead} +${ids.dead} +dead +1 +\\S+ \\S+ +the disk is full of dead$`));
    expect(jsonLines((await read("dead-letters", "--json")).stdout).map(({ runId }) => runId)).toEqual([ids.dead, ids.lost]);

    const replayed = await read("dead-letters", "--replay", ids.dead.slice(-8));
    expect(replayed).toMatchObject({
      code: 0,
      stdout: `run ${ids.dead} is queued on thread dead: a process that serves the queue takes it up\n`,
    });
    expect((await read("queue")).stdout).toMatch(new RegExp(`${ids.dead} +dead +queued +due +- +0 of 5`));
    const again = await read("dead-letters", "--replay", ids.dead);
    expect(again.code).not.toBe(0);
    expect(again.stderr).toContain(`no dead letter has the id '${ids.dead}'`);

    const dropped = await read("dead-letters", "--drop", ids.lost.slice(-8), "--json");
    expect(jsonLines(dropped.stdout)).toMatchObject([{ type: "dropped", id: ids.lost, error: "the disk is full\nof lost" }]);
    expect((await read("dead-letters")).stderr).toMatch(/^there are no dead letters in /);
  });

  it("what is asked for wrongly is said", async () => {
    const both = await read("dead-letters", "--replay", "a", "--drop", "b");
    expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining("exclude each other") });
    for (const bad of ["nobody-knows-it", "x"])
      expect((await read("dead-letters", "--drop", bad)).stderr).toContain(`no dead letter has the id '${bad}'`);
    expect((await read("queue", "--limit", "no")).code).toBe(2);
    const none = await cli(["queue", "--store", join(elsewhere, "none.db")], { cwd: elsewhere });
    expect(none.code).toBe(2);
  });

  it("events, queue and dead-letters over a server: what its own store shows, for whoever runs it", async () => {
    await using records = sqliteStore(store);
    await using runtime = createRuntime({
      providers: { scripted: scripted([]) },
      models: { fast: { provider: "scripted", model: "m" } },
      agents: { assistant: { model: "fast" } },
      store: records,
      workers: false,
    });
    const letter = async (thread: string) => {
      const { runId } = await runtime.start({ agent: "assistant", thread, input: "x" });
      const claim = (await records.dispatches.claim(threadId(thread), { consumer: "host-7/boot/4711", leaseMs: 600_000 }))?.dispatch;
      await records.dispatches.deadLetter(claim ?? expect.fail(), `the disk is full of ${thread}`);
      return runId;
    };
    const [one, two] = [await letter("one"), await letter("two")];
    const waiting = (await records.threads.load(threadId("waits")))?.openRunId ?? expect.fail();
    const third = (await records.events.list({ type: "thread", threadId: threadId("waits") }, { limit: 3 })).items[2]?.cursors.thread;
    const token = "the-token-of-the-admin";
    await using server = await serve({ runtime, port: 0, admin: { token } });
    const there = ["--server", server.url, "--key", token];
    const both = (...args: readonly string[]) => [
      [...args, ...there],
      [...args, "--store", store],
    ];
    const lines = [
      ...[...both("queue"), ...both("dead-letters"), ...both("events", "waits"), ...both("events", "waits", "--after", String(third))],
      ["queue", "--json", "--limit", "1", ...there],
      ["events", "waits", "--limit", "3", ...there],
      ["queue", "--server", server.url, "--key", "not-the-token-of-the-admin"],
      ["dead-letters", "--drop", "nobody-knows-it", ...there],
      ["dead-letters", "--drop", one.slice(-8), ...there],
      ["dead-letters", "--replay", two, "--json", ...there],
      ["events", waiting, "--follow", "--json", ...there],
    ];
    const told = await cliAll(lines, { cwd: elsewhere }, async (shown) => {
      // The last of them, which stays for what comes.
      await shown.shows('"type":"replayed"');
      await shown.shows('"kind":"run-suspended"');
      expect(await runtime.cancel(waiting)).toBe(true);
    });
    const plain = (result = told[0]) => ({ ...result, stdout: result?.stdout.replaceAll(/lease \d+ s/g, "lease") });
    for (const index of [0, 2, 4, 6]) {
      expect(plain(told[index])).toEqual(plain(told[index + 1]));
      expect(told[index]).toMatchObject({ code: 0, stdout: expect.stringContaining("\n") });
    }
    const [json, some, refused, nobody, dropped, replayed, followed] = told.slice(8);
    expect(jsonLines(json?.stdout ?? "")).toMatchObject([{ status: "queued", runId: ids.queued, threadId: "t1", pending: 1 }]);
    expect(some?.stderr).toContain(`events waits --after ${third} --server ${server.url}`);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("who are you") });
    expect(nobody).toMatchObject({ code: 2, stderr: expect.stringContaining("nobody-knows-it") });
    expect(dropped).toMatchObject({ code: 0, stdout: `dead letter ${one} is dropped\n` });
    expect(jsonLines(replayed?.stdout ?? "")).toMatchObject([{ type: "replayed", threadId: "two" }]);
    expect(followed?.code).toBe(0);
    const log = await records.events.list({ type: "run", runId: waiting }, { limit: 200, visibilities: ["public", "internal"] });
    expect(jsonLines(followed?.stdout ?? "").map(({ eventId }) => eventId)).toEqual(log.items.map(({ eventId }) => eventId));
  });
});
