import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { CONFIG, HASH, KEY, startServer } from "./server.test-support.ts";
import { cli, Folders, jsonLines } from "./test-cli.ts";

// `awaken serve` as a process, and the other commands over it.

const folders = new Folders();
afterAll(() => folders[Symbol.dispose]());

test("awaken serve on SQLite: one line of JSON for each request, and a SIGTERM ends it in peace", async () => {
  const cwd = folders.project({ "awaken.config.ts": CONFIG });
  await using server = await startServer(cwd);
  const answer = await fetch(`${server.url}/v1/runs`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-request-id": "r-1" },
    body: JSON.stringify({ agentId: "assistant", threadId: "secret-thread", messages: [{ role: "user", content: "hello" }] }),
  });
  expect(await answer.text()).toContain("You said it.");
  expect((await fetch(`${server.url}/v1/threads/none`)).status).toBe(404);
  expect((await fetch(`${server.url}/health`)).status).toBe(200);
  expect(await server.terminate()).toBe(0);
  expect(server.lines()).toMatchObject([
    { requestId: "r-1", method: "POST", route: "/v1/runs", status: 200, at: expect.any(Number), durationMs: expect.any(Number) },
    { method: "GET", route: "/v1/threads/:id", status: 404, code: "thread_not_found" },
    { route: "/health", status: 200 },
  ]);
  expect(JSON.stringify(server.lines())).not.toContain("secret-thread");
  expect(existsSync(join(cwd, "awaken.db"))).toBe(true);
});

test("the commands over a server with a key: run, decide, runs, threads, show, attach, cancel", async () => {
  await using server = await startServer(folders.project({ "awaken.config.ts": CONFIG }), { AWAKEN_API_KEYS: `acme=${HASH}` }, "--metrics");
  const cwd = folders.empty();
  const env = { AWAKEN_SERVER_KEY: KEY };
  const on = (...args: readonly string[]) => cli([...args, "--server", server.url], { cwd, env });
  const asked = await on("run", "refund order 7", "--agent", "assistant", "--thread", "t1");
  expect(asked).toMatchObject({ code: 3 });
  const ticket = /waits for a decision: (\S+)/.exec(asked.stdout)?.[1] ?? expect.fail(asked.stdout + asked.stderr);
  expect(asked.stdout).toContain(`--approve --server ${server.url}`);
  expect((await on("runs", "--status", "waiting")).stdout).toContain(ticket);
  expect(await (await fetch(`${server.url}/metrics`)).text()).toContain(
    'awaken_http_requests_total{method="POST",route="/v1/runs",status="200"} 1',
  );
  expect((await on("show", "t1")).stdout).toContain('→ refund {"amount":120}');
  const decided = await on("decide", ticket, "--approve", "--input", '{"amount":90}', "--by", "ana", "--json");
  expect(decided.code).toBe(0);
  const lines = jsonLines(decided.stdout);
  expect(lines.at(-1)).toMatchObject({ type: "result", status: "done", text: "It is refunded." });
  expect(decided.stdout).toContain('"amount":90');
  expect((await on("runs", "--thread", "t1", "--json")).stdout).toContain('"status":"done"');
  expect(jsonLines((await on("threads", "--json")).stdout)).toMatchObject([{ id: "t1" }]);
  const run = String(lines.at(-1)?.["runId"]);
  expect((await on("attach", run)).stdout).toContain("It is refunded.");
  expect(await on("cancel", "t1")).toMatchObject({ code: 2, stderr: expect.stringContaining("no run to cancel") });
  const wrong = await cli(["threads", "--server", server.url, "--key", "another-long-key"], { cwd });
  expect(wrong.code).not.toBe(0);
  expect(wrong.stderr).toContain("who are you");
  expect(await cli(["threads", "--server", "localhost"], { cwd })).toMatchObject({ code: 2 });
});
