import { createServer } from "node:http";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, it } from "vitest";
import { cli, Folders, hide, writeFiles } from "./test-cli.ts";

const folders = new Folders();
afterAll(() => folders[Symbol.dispose]());

const NO_STACK = /\n\s+at |node:internal/;
const KEY = "sk-live-0123456789abcdef";
const AGENTS = 'agents: { a: { model: "m" } }, models: { m: { provider: "p", model: "x" } }';
const PROVIDER = 'providers: { p: { name: "p", async *stream() { yield { type: "stop", reason: "end-turn" }; } } }';

/** A model whose answer never comes, because something else fails first. */
const PROVIDER_LATE = `
const p = {
  name: "p",
  async *stream() {
    Promise.reject(new Error("nobody caught this"));
    await new Promise((resolve) => setTimeout(resolve, 600_000));
    yield { type: "stop", reason: "end-turn" };
  },
};`;

async function refused(args: readonly string[], options: Parameters<typeof cli>[1]) {
  const { code, stdout, stderr } = await cli(args, options);
  expect(stderr).not.toMatch(NO_STACK);
  expect(stdout).toBe("");
  return { code, lines: stderr.trimEnd().split("\n") };
}

describe.concurrent("a broken config is told in one line, with exit code 2", () => {
  const cases: readonly (readonly [string, string, string | RegExp, string | RegExp | undefined])[] = [
    ["a syntax error", "export default {\n  agents: ,\n};\n", "awaken.config.ts:2 cannot be read: Expression expected", undefined],
    ["an enum", "enum A { X }\nexport default A;\n", /^awaken\.config\.ts:1 cannot be read: .*enum/, /^Node takes the types away/],
    [
      "an await that never ends",
      "await new Promise(() => {});\nexport default {};\n",
      "the config never finished loading: it awaits something that never comes",
      /^look for such an `await`/,
    ],
    ["no default export", "export const a = 1;\n", "awaken.config.ts has no default export", /export default defineConfig/],
    ["a throw", "const a = 1;\nthrow new Error('boom');\nexport default a;\n", "awaken.config.ts:2 failed: boom", undefined],
    [
      "a function that throws",
      "export default async () => {\n  throw new Error('later');\n};\n",
      "awaken.config.ts:2 failed: later",
      undefined,
    ],
    [
      "a missing package",
      "import x from '@scope/nope/sub';\nexport default x;\n",
      /imports the package '@scope\/nope', which is not/,
      "npm install @scope/nope",
    ],
    [
      "a missing file",
      "import x from './gone.ts';\nexport default x;\n",
      "awaken.config.ts imports gone.ts, which does not exist",
      undefined,
    ],
    ["no object", "export default 'assistant';\n", /must be an object or a function that gives one, got a string/, undefined],
    ["an unknown option", `export default { agnets: {} };\n`, "awaken.config.ts: unknown option 'agnets'", "did you mean 'agents'?"],
    ["no agents", "export default {};\n", "awaken.config.ts: there are no agents", /^for example/],
    ["agents as a list", "export default { agents: [] };\n", "awaken.config.ts: 'agents' must be an object by id, got a list", undefined],
    [
      "an agent that is none",
      "export default { agents: { a: 'x' } };\n",
      "awaken.config.ts: agent 'a' must be an object, got a string",
      undefined,
    ],
    ["an agent without its model", "export default { agents: { a: { model: 'gone' } } };\n", /^awaken\.config\.ts: .*gone/, undefined],
    [
      "a wrong field of an agent",
      "export default { agents: { a: { maxSteps: -1 } } };\n",
      /field 'maxSteps' must be at least 0/,
      undefined,
    ],
    ["a store that is none", `export default { store: "awaken.db", ${AGENTS} };\n`, /'store' must be a store, got a string/, /sqliteStore/],
    ["an output of nobody", `export default { ${AGENTS}, outputs: { b: {} } };\n`, /'outputs' names the agent 'b'/, "agents are a"],
  ];

  it.each(cases)("%s", async (_name, config, error, fix) => {
    const { code, lines } = await refused(["run", "hi"], { cwd: folders.project({ "awaken.config.ts": config }) });
    expect(code).toBe(2);
    expect(lines).toHaveLength(fix === undefined ? lines.length : 2);
    expect(lines[0]).toMatch(/^error: /);
    const said = lines[0]?.slice("error: ".length);
    if (typeof error === "string") expect(said).toBe(error);
    else expect(said).toMatch(error);
    if (fix !== undefined) expect(lines[1]?.slice("fix: ".length)).toMatch(fix);
  });

  it("--debug shows the stack", async () => {
    const cwd = folders.project({ "awaken.config.ts": "throw new Error('boom');\n" });
    expect((await cli(["run", "hi", "--debug"], { cwd })).stderr).toMatch(/error: .*boom[\s\S]*Error: boom\n\s+at /);
  });

  it("what is thrown where nobody can catch it", async () => {
    const config = `${PROVIDER_LATE}\nexport default { ${AGENTS}, providers: { p } };\n`;
    const { code, stderr } = await cli(["run", "hi"], { cwd: folders.project({ "awaken.config.ts": config }) });
    expect({ code, stderr }).toEqual({ code: 1, stderr: "error: nobody caught this\nfix: --debug shows where\n" });
  });

  it("no config at all, and one that is named and not there", async () => {
    const cwd = folders.empty();
    expect(await refused(["run", "hi"], { cwd })).toEqual({
      code: 2,
      lines: [`error: there is no awaken.config.ts in ${cwd} or above it`, "fix: `awaken init` writes one; --config names another file"],
    });
    expect((await refused(["threads", "--config", "x.ts"], { cwd })).lines[0]).toBe("error: there is no config file x.ts");
  });
});

describe.concurrent("the command line", () => {
  it("suggests the command and the option that were meant", async () => {
    const cwd = folders.empty();
    expect((await refused(["help", "nope"], { cwd })).lines[0]).toBe("error: unknown command 'nope'");
    expect((await cli(["help", "cancel"], { cwd })).stdout).toMatch(/^Usage: awaken cancel /);
    expect(await refused(["rnu", "hi"], { cwd })).toEqual({ code: 2, lines: ["error: unknown command 'rnu'", "fix: Did you mean run?"] });
    expect(await refused(["run", "hi", "--agnet", "x"], { cwd })).toEqual({
      code: 2,
      lines: ["error: unknown option '--agnet'", "fix: Did you mean --agent?"],
    });
    expect((await refused(["decide"], { cwd })).lines[0]).toBe("error: missing required argument 'ticket'");
  });

  it("helps with every command, with an example", async () => {
    const cwd = folders.empty();
    const top = await cli([], { cwd });
    expect(top).toEqual(await cli(["--help"], { cwd }));
    expect({ code: top.code, stderr: top.stderr }).toEqual({ code: 0, stderr: "" });
    const commands = [...top.stdout.matchAll(/^ {2}([a-z-]+) \[options\]/gm)].map(([, name = ""]) => name);
    expect(commands.sort()).toEqual([
      "attach",
      "cancel",
      "chat",
      "dead-letters",
      "decide",
      "dev",
      "doctor",
      "events",
      "init",
      "queue",
      "resume",
      "run",
      "runs",
      "serve",
      "show",
      "threads",
      "trace",
    ]);
    for (const { code, stdout } of await Promise.all(commands.map((name) => cli([name, "--help"], { cwd })))) {
      expect(code).toBe(0);
      expect(stdout).toMatch(/Example:\n {2}\$ awaken /);
    }
    expect((await cli(["--version"], { cwd })).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe.concurrent("vendors", () => {
  const CONFIG = `
import { vendorFromEnv } from "awaken/config";
const llm = await vendorFromEnv({ otherwise: { provider: { name: "demo", async *stream() { yield { type: "stop", reason: "end-turn" }; } }, model: "demo" } });
export default { providers: { main: llm.provider }, models: { main: { provider: "main", model: llm.model } }, agents: { a: { model: "main" } } };
`;

  it("a package that is not installed: the line to type", async () => {
    const cwd = folders.project({ "awaken.config.ts": CONFIG, "hide.mjs": hide("@ai-sdk/openai") });
    const env = { OPENAI_API_KEY: KEY, NODE_OPTIONS: `--import ${join(cwd, "hide.mjs")}` };
    expect(await refused(["run", "hi"], { cwd, env })).toEqual({
      code: 2,
      lines: ["error: awaken.config.ts: OPENAI_API_KEY is set, and @ai-sdk/openai is not installed", "fix: npm install @ai-sdk/openai"],
    });
  });

  it("a key that the vendor refuses is told as such, and not shown", async () => {
    const server = createServer((request, response) => {
      const message = `Incorrect API key provided: ${request.headers.authorization}.`;
      response
        .writeHead(401, { "content-type": "application/json" })
        .end(JSON.stringify({ error: { message, type: "invalid_request_error" } }));
    });
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    try {
      const address = server.address();
      const port = typeof address === "object" ? address?.port : undefined;
      const env = { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1` };
      const { code, stdout, stderr } = await cli(["run", "hi"], { cwd: folders.project({ "awaken.config.ts": CONFIG }), env });
      expect(code).toBe(1);
      expect(stderr).toMatch(/^error: the model's vendor refused the key: .*\nfix: set the right key/);
      expect(stdout + stderr).not.toContain(KEY);
    } finally {
      server.close();
    }
  });

  it("a secret in an error of the config is not shown", async () => {
    const cwd = folders.project({ "awaken.config.ts": "throw new Error('cannot use ' + process.env.MY_TOKEN);\n" });
    const { stderr } = await cli(["run", "hi", "--debug"], { cwd, env: { MY_TOKEN: "tok-998877665544" } });
    expect(stderr).toMatch(/cannot use \*\*\*/);
    expect(stderr).not.toContain("998877");
  });
});

describe.concurrent("stores", () => {
  const config = `export default { ${AGENTS}, ${PROVIDER} };\n`;

  it("a database that a newer version wrote", async () => {
    const cwd = folders.project({ "awaken.config.ts": config });
    await cli(["run", "hi", "--thread", "t"], { cwd });
    const database = new DatabaseSync(join(cwd, "awaken.db"));
    database.exec("PRAGMA user_version = 99");
    database.close();
    for (const args of [
      ["run", "hi"],
      ["threads", "--store", "awaken.db"],
    ]) {
      const { code, lines } = await refused(args, { cwd });
      expect(code).toBe(2);
      expect(lines[0]).toMatch(/^error: SQLite database '.*awaken\.db' has version 99 of the tables, this program knows up to \d+$/);
      expect(lines[1]).toMatch(/^fix: a newer awaken wrote this database: `npm install awaken@latest`/);
    }
  });

  it("a file that is no database, and a folder that is not there", async () => {
    const cwd = folders.project({
      "awaken.config.ts": config,
      "notes.txt": "not a database, and long enough to be read as one. ".repeat(20),
    });
    const { code, lines } = await refused(["threads", "--store", "notes.txt"], { cwd });
    expect(code).toBe(2);
    expect(lines[0]).toMatch(/^error: SQLite database '.*notes\.txt' is damaged or no database/);
    expect((await refused(["run", "hi", "--store", "no/where/a.db"], { cwd })).lines[0]).toBe(
      "error: there is no folder for the database no/where/a.db",
    );
  });

  it("a database that cannot be opened", async () => {
    const cwd = folders.project({ "awaken.config.ts": config, "folder.db/file": "" });
    const { code, lines } = await refused(["threads", "--store", "folder.db"], { cwd });
    expect(code).toBe(2);
    expect(lines).toEqual([
      expect.stringMatching(/^error: SQLite database '.*folder\.db'/),
      expect.stringMatching(/^fix: check that the file and its folder may be read and written/),
    ]);
  });

  it("a server that nobody could reach: no key, and a port that is taken", async () => {
    const cwd = folders.project({ "awaken.config.ts": config });
    const keyless = await refused(["serve", "--host", "0.0.0.0", "--port", "0"], { cwd, env: { AWAKEN_API_KEYS: " , " } });
    expect([keyless.code, keyless.lines[0]]).toEqual([2, "error: AWAKEN_API_KEYS is set and has no key"]);
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const address = other.address();
    const port = String(typeof address === "object" ? address?.port : "");
    const taken = await refused(["serve", "--port", port], { cwd });
    expect(taken.code).toBe(2);
    expect(taken.lines[0]).toMatch(new RegExp(`^error: serve: another process listens on port ${port} of 127\\.0\\.0\\.1: .*--share-port`));
    await new Promise((resolve) => other.close(resolve));
  });

  it("addresses that cannot be used, without their password", async () => {
    const cwd = folders.project({ "awaken.config.ts": config, "hide.mjs": hide("pg") });
    expect((await refused(["threads", "--store", "mysql://ana:geheim123@h/db"], { cwd })).lines).toEqual([
      "error: there is no store for mysql://",
      "fix: expected a file, postgres://host/database, or memory",
    ]);
    const url = "postgres://ana:geheim123@127.0.0.1:1/db";
    const down = await refused(["threads", "--store", url], { cwd });
    expect(down.code).toBe(2);
    expect(down.lines[0]).toMatch(/^error: PostgreSQL: /);
    expect(down.lines[1]).toMatch(/^fix: check that the server is up/);
    expect(down.lines.join("\n")).not.toContain("geheim123");
    const env = { AWAKEN_STORE: url, NODE_OPTIONS: `--import ${join(cwd, "hide.mjs")}` };
    expect((await refused(["runs"], { cwd, env })).lines[0]).toBe(
      "error: the PostgreSQL store needs the package 'pg': run `npm install pg`",
    );
  });

  it("the config's own store is used unless another one is asked for", async () => {
    const own = `import { sqliteStore } from "awaken/sqlite";\nexport default { store: sqliteStore("own.db"), ${AGENTS}, ${PROVIDER} };\n`;
    const cwd = folders.project({ "awaken.config.ts": own });
    writeFiles(cwd, { "below/readme.txt": "" });
    await cli(["run", "hi", "--thread", "mine"], { cwd: join(cwd, "below") });
    await cli(["run", "hi", "--thread", "other", "--store", "other.db"], { cwd: join(cwd, "below") });
    expect((await cli(["threads"], { cwd })).stdout).toMatch(/^mine /m);
    expect((await cli(["threads", "--store", "below/other.db"], { cwd })).stdout).toMatch(/^other /m);
  });
});
