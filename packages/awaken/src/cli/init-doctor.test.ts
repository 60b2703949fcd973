import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { startServer } from "./server.test-support.ts";
import { cli, Folders, hide, jsonLines, link, useSources, writeFiles } from "./test-cli.ts";

// A project that is made in a checkout depends on it, and is compiled against it.
useSources();
const folders = new Folders();
afterAll(() => folders[Symbol.dispose]());

const ROOT = join(import.meta.dirname, "../../../..");
const FILES = [".gitignore", ".npmrc", "README.md", "awaken.config.ts", "demo-model.ts", "package.json", "tsconfig.json"];

describe("awaken init", () => {
  const parent = folders.empty();
  const project = join(parent, "My Agent");

  it("writes a project that type-checks, runs, waits for an approval and is healthy", async () => {
    const made = await cli(["init", "My Agent"], { cwd: parent });
    expect(made.code).toBe(0);
    expect(made.stdout).toMatch(/Next:\n {2}cd 'My Agent'\n {2}npm install\n {2}npx awaken chat/);
    expect(readdirSync(project).sort()).toEqual(FILES);
    expect(JSON.parse(readFileSync(join(project, "package.json"), "utf8"))).toMatchObject({
      name: "my-agent",
      type: "module",
      // In a checkout the project depends on the checkout, so that it can be installed at once.
      dependencies: { awaken: `file:${join(ROOT, "packages/awaken")}` },
    });

    link(project);
    // What `npm run check` of the project is.
    const checked = spawnSync(join(ROOT, "node_modules/.bin/tsc"), [], { cwd: project, encoding: "utf8", timeout: 300_000 });
    expect(checked.stdout).toBe("");
    expect(checked.status).toBe(0);

    const weather = await cli(["run", "weather in Oslo", "--agent", "assistant"], { cwd: project });
    expect(weather).toMatchObject({ code: 0, stdout: expect.stringMatching(/^The tool weather says: .*Oslo/) });
    const waiting = await cli(["run", "refund order 7 for 120", "--json"], { cwd: project });
    expect(waiting.code).toBe(3);
    const result = jsonLines(waiting.stdout).at(-1);
    const ticket = /"tickets":\[\{"id":"([^"]+)"/.exec(JSON.stringify(result))?.[1] ?? "";
    const done = await cli(["decide", ticket, "--approve"], { cwd: project });
    expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining('"refunded":120') });
    expect((await cli(["run", "hello"], { cwd: project })).stdout).toContain("I am a demo model");
    expect((await cli(["doctor"], { cwd: project })).code).toBe(0);
  });

  it("writes a project that can be served as it is, and says so", async () => {
    const cwd = folders.empty();
    const made = await cli(["init"], { cwd });
    expect(made.stdout).toContain("npx awaken dev");
    expect(made.stdout).toContain("npx awaken serve");
    expect(readFileSync(join(cwd, "README.md"), "utf8")).toContain("npx awaken dev ");
    const { scripts } = JSON.parse(readFileSync(join(cwd, "package.json"), "utf8"));
    expect(scripts).toMatchObject({ dev: "awaken dev", serve: "awaken serve" });
    link(cwd);
    await using server = await startServer(cwd);
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    const answer = await fetch(`${server.url}/v1/runs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ agentId: "assistant", messages: [{ role: "user", content: "hello" }] }),
    });
    const said = (await answer.text()).matchAll(/"type":"text-delta"[^\n]*"delta":"([^"]*)"/g);
    expect([...said].map(([, delta]) => delta).join("")).toContain("I am a demo model");
  });

  it("runs with the demo model when there is a key and the vendor's package is not installed, and says what to install", async () => {
    const cwd = folders.empty();
    await cli(["init"], { cwd });
    link(cwd);
    writeFiles(cwd, { "hide.mjs": hide("@ai-sdk/openai") });
    const env = { OPENAI_API_KEY: "sk-hidden-1234567890", NODE_OPTIONS: `--import ${join(cwd, "hide.mjs")}` };
    const { code, stdout, stderr } = await cli(["run", "hello", "--json"], { cwd, env });
    expect(code).toBe(0);
    expect(jsonLines(stdout).at(-1)).toMatchObject({ type: "result", text: expect.stringContaining("I am a demo model") });
    expect(stderr).toBe(
      "OPENAI_API_KEY is set, and @ai-sdk/openai is not installed: npm install @ai-sdk/openai; until then the model demo answers\n",
    );
    // Whoever names the vendor does not get another one.
    const named = await cli(["doctor"], { cwd, env: { ...env, AWAKEN_MODEL: "openai" } });
    expect(named.code).toBe(1);
    expect(named.stdout.match(/fix: npm install @ai-sdk\/openai$/gm)).toHaveLength(1);
  });

  it("overwrites nothing unless it is told to", async () => {
    const cwd = folders.empty();
    writeFileSync(join(cwd, "README.md"), "mine");
    expect(await cli(["init"], { cwd })).toEqual({
      code: 2,
      stdout: "",
      stderr: "error: these files are there already: README.md\nfix: choose another folder, or overwrite them with --force\n",
    });
    expect(readdirSync(cwd)).toEqual(["README.md"]);
    const forced = await cli(["init", "--force"], { cwd });
    expect(forced.code).toBe(0);
    expect(forced.stdout).not.toContain("  cd ");
    expect(readFileSync(join(cwd, "README.md"), "utf8")).toContain("npx awaken chat");
    expect(await cli(["init", "README.md"], { cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^error: README\.md is a file/),
    });
  });
});

describe.concurrent("awaken doctor", () => {
  it("is content with a project that is in order, and names keys without showing them", async () => {
    const { code, stdout, stderr } = await cli(["doctor"], { cwd: folders.project(), env: { OPENAI_API_KEY: "sk-hidden-1234567890" } });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^ok {4}node {4}Node 2\d\./m);
    expect(stdout).toMatch(/^ok {4}config {2}.*awaken\.config\.ts loads$/m);
    expect(stdout).toMatch(/^ok {4}keys {4}OPENAI_API_KEY is set, and @ai-sdk\/openai is installed$/m);
    expect(stdout).toMatch(/^ok {4}agents {2}all of them resolve: assistant, planner$/m);
    expect(stdout).toMatch(/^ok {4}store {3}its tables have version \d+/m);
    expect(stdout).toMatch(/^ok {4}store {3}a test record was written and taken back$/m);
    expect(stdout).toMatch(/^ok {4}store {3}0 threads, 0 messages, 0 runs/m);
    expect(stdout).toMatch(/^ok {4}runs {4}no run waits, and none was cut off$/m);
    expect(stdout).not.toContain("hidden");
  });

  it("warns of what waits", async () => {
    const cwd = folders.project();
    await cli(["run", "refund", "--agent", "assistant"], { cwd });
    const { code, stdout } = await cli(["doctor", "--json"], { cwd });
    expect(code).toBe(0);
    const [report] = jsonLines(stdout);
    expect(report).toMatchObject({ type: "doctor", failed: 0 });
    expect(report?.["findings"]).toContainEqual(
      expect.objectContaining({ level: "warn", subject: "runs", text: expect.stringMatching(/^waiting: \S+$/), fix: expect.any(String) }),
    );
  });

  it("exits with 1 when something fails, with the fix for it", async () => {
    const none = await cli(["doctor"], { cwd: folders.empty() });
    expect(none.code).toBe(1);
    expect(none.stdout).toMatch(/^fail {2}config {2}there is no awaken\.config\.ts .*\n +fix: `awaken init` writes one/m);
    const broken = await cli(["doctor"], { cwd: folders.project({ "awaken.config.ts": "export default {" }) });
    expect(broken.code).toBe(1);
    expect(broken.stdout).toMatch(/^fail {2}config {2}awaken\.config\.ts:1 cannot be read/m);
    const lost = await cli(["doctor"], {
      cwd: folders.project({ "awaken.config.ts": "export default { agents: { a: { model: 'gone' } } };" }),
    });
    expect(lost.code).toBe(1);
    expect(lost.stdout).toMatch(/^fail {2}agents {2}.*gone/m);
    // The store is looked at all the same.
    expect(lost.stdout).toMatch(/^ok {4}store/m);
  });
});

describe("awaken chat", () => {
  it("talks line by line when it is piped", async () => {
    const { code, stdout } = await cli(["chat", "--agent", "assistant", "--thread", "t"], { cwd: folders.project(), input: "hello\n" });
    expect(code).toBe(0);
    expect(stdout).toContain("you said: hello");
  });
});
