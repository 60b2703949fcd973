import { once } from "node:events";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { ask, defineTool } from "@awaken/runtime";
import { scripted, text, toolCall } from "@awaken/runtime/testing";
import { sqliteStore } from "@awaken/stores/sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { createRuntime } from "../create-runtime.ts";
import { cli, Folders, jsonLines, startCli, Watch } from "./test-cli.ts";

const folders = new Folders();
afterAll(() => folders[Symbol.dispose]());

describe("records of a store", () => {
  let cwd = "";
  /** A folder without a config: `--store` alone has to be enough. */
  let elsewhere = "";
  let store = "";
  const read = (...args: readonly string[]) => cli([...args, "--store", store], { cwd: elsewhere });

  beforeAll(async () => {
    cwd = folders.project();
    elsewhere = folders.empty();
    store = join(cwd, "awaken.db");
    for (const [input, thread] of [
      ["hello", "t1"],
      ["again", "t1"],
      ["refund", "t2"],
    ] as const) {
      await cli(["run", input, "--agent", "assistant", "--thread", thread], { cwd });
    }
  });

  it("threads: the one that was used last first; as a table and as JSON", async () => {
    const table = await read("threads");
    expect(table.code).toBe(0);
    expect(table.stdout.split("\n")[0]).toMatch(/^THREAD +UPDATED \(UTC\) +AGENT +LAST RUN +TITLE$/);
    expect(table.stdout.split("\n")[1]).toMatch(/^t2 .* assistant +waiting +refund$/);
    expect(jsonLines((await read("threads", "--json")).stdout).map((thread) => thread["id"])).toEqual(["t2", "t1"]);
    const one = await read("threads", "--limit", "1");
    expect(one.stdout).not.toContain("t1");
    expect(one.stderr).toBe("1 of 2: --limit shows more\n");
  });

  it("runs: by status and thread, the newest last", async () => {
    expect(jsonLines((await read("runs", "--json")).stdout).map((run) => run["threadId"])).toEqual(["t1", "t1", "t2"]);
    const waiting = await read("runs", "--status", "waiting");
    expect(waiting.stdout).toMatch(/refund: \S{8}/);
    expect(jsonLines((await read("runs", "--thread", "t1", "--status", "done,running", "--json")).stdout)).toHaveLength(2);
    const last = await read("runs", "--limit", "1");
    expect(last.stdout).toContain("t2");
    expect(last.stdout).not.toContain("t1");
    expect(last.stderr).toBe("the last 1 of 3: --limit shows more\n");
    expect((await read("runs", "--status", "created")).stderr).toMatch(/^there are no such runs in /);
  });

  it("show: a thread with its messages and what waits, or a run", async () => {
    const thread = await read("show", "t2");
    expect(thread.stdout).toMatch(/open run +\S+ \(waiting\)/);
    expect(thread.stdout).toContain('→ refund {"amount":120}');
    expect(thread.stdout.replaceAll(/decide \S+/g, "decide T")).toContain(`awaken decide T --approve --store ${store}`);
    const [run] = jsonLines((await read("runs", "--thread", "t1", "--json")).stdout);
    const shown = await read("show", String(run?.["runId"]));
    expect(shown.stdout).toMatch(/status +done/);
    expect(shown.stdout).toContain("you said: hello");
    expect(shown.stdout).not.toContain("again");
    const [json] = jsonLines((await read("show", "t1", "--json", "--limit", "2")).stdout);
    expect(json).toMatchObject({ type: "thread", messages: [{ seq: 3 }, { seq: 4 }] });
  });

  it("events: page by page, of a thread or a run", async () => {
    const all = jsonLines((await read("events", "t1", "--json")).stdout);
    expect(all.map((event) => event["kind"])).toContain("run-finished");
    const first = await read("events", "t1", "--limit", "2");
    expect(first.stdout.trim().split("\n")).toHaveLength(2);
    const cursor = /--after (\S+) --store/.exec(first.stderr)?.[1] ?? "";
    const rest = jsonLines((await read("events", "t1", "--after", cursor, "--json")).stdout);
    expect(rest).toEqual(all.slice(2));
    const run = String(all[0]?.["runId"]);
    expect(jsonLines((await read("events", run, "--json")).stdout).every((event) => event["runId"] === run)).toBe(true);
    expect(await read("events", "t1", "--after", "nonsense")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("fix: --after takes a cursor that the command events gave"),
    });
  });

  it("events --follow shows what another process writes, until Ctrl-C", async () => {
    const child = startCli(["events", "t1", "--follow", "--store", store], { cwd: elsewhere });
    child.stdin.end();
    const stdout = new Watch(child.stdout);
    await stdout.shows("run-finished");
    await cli(["run", "broken", "--agent", "assistant", "--thread", "t1"], { cwd });
    await stdout.shows("run-errored");
    child.kill("SIGINT");
    await once(child, "close");
    expect(child.exitCode).toBe(130);
  });

  it("attach shows a thread as it was and as another process goes on with it, a run to its end, and goes on behind a cursor", async () => {
    const child = startCli(["attach", "t1", "--store", store], { cwd: elsewhere });
    child.stdin.end();
    const [stdout, stderr] = [new Watch(child.stdout), new Watch(child.stderr)];
    await stdout.shows("you said: hello");
    await cli(["run", "once more", "--agent", "assistant", "--thread", "t1"], { cwd });
    await stdout.shows("you said: once more");
    await stderr.shows("is done");
    child.kill("SIGINT");
    await once(child, "close");
    expect(child.exitCode).toBe(130);
    const [run] = jsonLines((await read("runs", "--thread", "t1", "--json")).stdout);
    const all = await read("attach", String(run?.["runId"]), "--json");
    expect(all.code).toBe(0);
    const events = jsonLines(all.stdout);
    expect(events.at(-1)).toMatchObject({ type: "run-end", cursor: expect.any(String) });
    const [first] = events.flatMap(({ cursor }) => (typeof cursor === "string" ? [cursor] : []));
    const rest = jsonLines((await read("attach", String(run?.["runId"]), "--after", first ?? "", "--json")).stdout);
    expect(rest).toEqual(events.slice(-rest.length));
    expect(rest.length).toBeLessThan(events.length);
    expect((await read("attach", "nope")).code).toBe(2);
  });

  it("says what is not there", async () => {
    expect(await read("show", "nope")).toEqual({
      code: 2,
      stdout: "",
      stderr: `error: there is no thread and no run 'nope' here\nfix: \`awaken threads --store ${store}\` and \`awaken runs --store ${store}\` list them\n`,
    });
    expect((await read("threads", "--limit", "0")).stderr).toMatch(/^error: --limit must be a whole number from 1/);
    expect((await read("runs", "--status", "watiing")).stderr).toBe(
      "error: --status 'watiing' is none of created, running, waiting, done, stopped, cancelled, blocked, failed\nfix: did you mean 'waiting'?\n",
    );
    const typo = await cli(["threads", "--store", "typo.db"], { cwd: elsewhere });
    expect(typo).toMatchObject({ code: 2, stderr: expect.stringMatching(/^error: there is no database typo\.db\nfix: /) });
    expect(existsSync(join(elsewhere, "typo.db"))).toBe(false);
  });

  it("makes no database where nothing was written yet", async () => {
    const fresh = folders.project();
    expect(await cli(["threads"], { cwd: fresh })).toEqual({ code: 0, stdout: "", stderr: "there are no threads in awaken.db\n" });
    expect((await cli(["cancel", "t"], { cwd: fresh })).code).toBe(2);
    expect(existsSync(join(fresh, "awaken.db"))).toBe(false);
  });

  it("AWAKEN_STORE does what --store does, and the config is found from a folder below", async () => {
    const byEnv = await cli(["threads", "--json"], { cwd: elsewhere, env: { AWAKEN_STORE: store } });
    expect(jsonLines(byEnv.stdout)).toHaveLength(2);
    const below = join(cwd, "a/b");
    mkdirSync(below, { recursive: true });
    expect(jsonLines((await cli(["threads", "--json"], { cwd: below })).stdout)).toHaveLength(2);
  });
});

describe.concurrent("awaken cancel and resume", () => {
  it("cancel ends a run that waits, by run or thread", async () => {
    const cwd = folders.project();
    await cli(["run", "refund", "--agent", "assistant", "--thread", "t"], { cwd });
    expect((await cli(["cancel", "t"], { cwd })).stdout).toMatch(/^run \S+ is cancelled\n$/);
    const [run] = jsonLines((await cli(["runs", "--json"], { cwd })).stdout);
    expect(run).toMatchObject({ status: "done", outcome: { termination: { type: "cancelled" } } });
    expect((await cli(["cancel", String(run?.["runId"])], { cwd })).stderr).toMatch(/^error: run '\S+' is done already\n$/);
    expect((await cli(["cancel", "t"], { cwd })).stderr).toMatch(/^error: thread 't' has no open run\n/);
  });

  it("resume goes on with a run whose process was killed", async () => {
    const cwd = folders.project();
    await cli(["run", "crash", "--agent", "assistant", "--thread", "t"], { cwd, env: { CRASH: "1" } });
    const second = await cli(["run", "hello", "--thread", "t", "--store", "awaken.db"], { cwd });
    expect(second).toMatchObject({ code: 2, stdout: "" });
    expect(second.stderr).toMatch(/^error: thread 't' has a run that is running.*\nfix: .*`awaken resume \S+ --store awaken\.db`/);
    const refused = await cli(["cancel", "t"], { cwd });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/is running: another process executes it, or it was cut off\nfix: .*awaken resume/);
    expect((await cli(["doctor"], { cwd })).stdout).toContain("running somewhere, or cut off: ");
    expect(await cli(["resume", "t"], { cwd })).toMatchObject({ code: 0, stdout: "survived\n" });
    const [run] = jsonLines((await cli(["runs", "--json"], { cwd })).stdout);
    expect(await cli(["resume", String(run?.["runId"])], { cwd })).toMatchObject({ code: 2, stderr: expect.stringContaining("is done") });
  });

  it("a thread id finds the run that was cut off, also when another run of the thread ended after it", async () => {
    const cwd = folders.project();
    await cli(["run", "crash", "--agent", "assistant", "--thread", "t"], { cwd, env: { CRASH: "1" } });
    const [lost] = jsonLines((await cli(["runs", "--json"], { cwd })).stdout);
    await using store = sqliteStore(join(cwd, "awaken.db"));
    // A process that had looked for runs of the thread before that one began.
    const loadHead: typeof store.threads.loadHead = async (id) => {
      const head = await store.threads.loadHead(id);
      if (head === undefined) return undefined;
      const { openRun: _open, latestRun: _latest, ...seen } = head;
      return seen;
    };
    const runtime = createRuntime({
      providers: { scripted: scripted([text("beside it")]) },
      models: { main: { provider: "scripted", model: "scripted-1" } },
      agents: { assistant: { model: "main" } },
      store: { ...store, threads: { ...store.threads, loadHead } },
      workers: false,
    });
    await runtime.run({ agent: "assistant", thread: "t", input: "hello" });
    const refused = await cli(["cancel", "t"], { cwd });
    expect(refused.stderr).toContain(`error: run '${lost?.["runId"]}' is running`);
    expect((await cli(["cancel", "t", "--cut-off"], { cwd })).stdout).toBe(`run ${lost?.["runId"]} is cancelled\n`);
  });

  it("cancel --cut-off ends a run whose process was killed", async () => {
    const cwd = folders.project();
    await cli(["run", "crash", "--agent", "assistant", "--thread", "t"], { cwd, env: { CRASH: "1" } });
    const { code, stdout } = await cli(["cancel", "t", "--cut-off", "--json"], { cwd });
    expect({ code, lines: jsonLines(stdout) }).toMatchObject({ code: 0, lines: [{ type: "cancelled", threadId: "t", status: "done" }] });
  });

  it("show prints the runs below a run as a tree, with what they used, and what waits anywhere below", async () => {
    const file = join(folders.empty(), "awaken.db");
    const store = sqliteStore(file);
    const pay = defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });
    const passOn = (to: string) => scripted([toolCall(`agent_run_${to}`, { prompt: "x" })]);
    const runtime = createRuntime({
      providers: { lead: passOn("writer"), writer: passOn("clerk"), clerk: scripted([toolCall("pay", {})]) },
      models: Object.fromEntries(["lead", "writer", "clerk"].map((id) => [id, { provider: id, model: "m" }])),
      agents: {
        lead: { model: "lead", delegates: ["writer"] },
        writer: { model: "writer", description: "Writes", delegates: ["clerk"] },
        clerk: { model: "clerk", description: "Pays" },
      },
      ...{ tools: [pay], store, workers: false },
    });
    const { runId } = await runtime.run({ agent: "lead", thread: "t", input: "go" });
    await runtime.close();
    await store.close();
    const { stdout, code } = await cli(["show", runId, "--store", file], { cwd: folders.empty() });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^2 below it, 45 tokens in all\n {2}writer waiting\S*, 15 tokens, \S+\n {4}clerk waiting\S*, 15 tokens, \S+$/m);
    expect(stdout).toMatch(/waits for a decision: \S+\n(.*\n)*? +agent +lead → writer → clerk/);
    expect(stdout).not.toContain("withdrawn");
  });

  it("show tells the input that a call ran with, and who decided", async () => {
    const cwd = folders.project();
    const waiting = await cli(["run", "refund", "--agent", "assistant", "--thread", "t"], { cwd });
    const [, ticket = ""] = /awaken decide (\S+) --approve/.exec(waiting.stdout) ?? [];
    await cli(["decide", ticket, "--approve", "--input", '{"amount":90}', "--by", "ana"], { cwd });
    const { stdout } = await cli(["show", "t"], { cwd });
    expect(stdout).toContain('→ refund {"amount":90} (edited, asked for {"amount":120})');
    expect(stdout).toContain("refund (pending), decided\n");
    expect(stdout).toMatch(/^decided \d\S+ \S+ by ana: approve refund \(\S+\): \{"amount":90\}$/m);
    const chat = await cli(["chat"], { cwd, input: "/switch t\n" });
    expect(chat.stderr).toContain('* refund {"amount":90} (edited, asked for {"amount":120})');
  });

  it("a message on a thread that waits withdraws the call: run says so, and show marks it", async () => {
    const cwd = folders.project();
    await cli(["run", "refund", "--agent", "assistant", "--thread", "t"], { cwd });
    expect((await cli(["show", "t"], { cwd })).stdout).toContain("awaiting decision");
    const { code, stderr } = await cli(["run", "never mind", "--thread", "t"], { cwd });
    expect(code).toBe(0);
    expect(stderr).toMatch(/this message withdraws what waited for a decision: refund \(\S+\)\n/);
    const { stdout } = await cli(["show", "t"], { cwd });
    expect(stdout).toContain("refund (pending), withdrawn\n");
    expect(stdout).not.toContain("awaiting decision");
  });

  it("resume refuses a run that waits for a decision", async () => {
    const cwd = folders.project();
    await cli(["run", "refund", "--agent", "assistant", "--thread", "t"], { cwd });
    expect(await cli(["resume", "t"], { cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/waits for a decision\nfix: `awaken show/),
    });
  });
});
