import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { createRuntime } from "@awaken/runtime";
import { fakeClock, scripted, text, toolCall } from "@awaken/runtime/testing";
import { expect, test, vi } from "vitest";
import { badServer, isAlive, open } from "./mcp.test-support.ts";
import { mcp } from "./mcp.ts";

const DONE = text("done");

test("what a server is configured with is in its handshake, and our name", async () => {
  const { server, sent } = badServer();
  const config = { level: "high" };
  const { runtime, plugin } = open({ servers: { s: Object.assign({}, server, { config }) } }, []);
  await runtime.initialize();
  expect(plugin.servers.status()[0]?.state).toBe("connected");
  expect(sent("initialize")).toMatchObject([{ params: { config, clientInfo: { name: "awaken-mcp" } } }]);
});

test("a server that does not tell of changes is asked again, as often as it is said", async () => {
  const clock = fakeClock(0);
  const { runtime, plugin, run } = open(
    { servers: { s: badServer("quiet").server }, refreshMs: 5_000 },
    [toolCall("mcp__s__grow", {}), DONE],
    { clock },
  );
  await runtime.initialize();
  await run();
  expect(plugin.servers.status()[0]?.tools).not.toContain("mcp__s__grown");
  await clock.advance(5_000);
  await vi.waitFor(() => expect(plugin.servers.status()[0]?.tools).toContain("mcp__s__grown"), 10_000);
});

test("whoever subscribes to a resource is told of its changes until he leaves", async () => {
  const { runtime, plugin, run } = open({ servers: { s: badServer().server } }, [
    toolCall("mcp__s__update", {}),
    DONE,
    toolCall("mcp__s__update", {}),
    DONE,
  ]);
  await runtime.initialize();
  const seen: string[] = [];
  const end = await plugin.servers.subscribe("s", "note://one", (uri) => void seen.push(uri));
  await run();
  await vi.waitFor(() => expect(seen).toEqual(["note://one"]));
  await end();
  await run("t2");
  await plugin.servers.refresh("s");
  expect(seen).toEqual(["note://one"]);
});

test("a tool with a face of its own gives it to whoever shows the result; one that cannot be read is left out", async () => {
  const { run } = open({ servers: { s: badServer().server } }, [toolCall("mcp__s__face", {}), toolCall("mcp__s__faceless", {}), DONE]);
  const [face, faceless] = await run();
  expect(face?.metadata).toMatchObject({
    "mcp.ui.resourceUri": "ui://face",
    "mcp.ui.content": "<b>21</b>",
    "mcp.ui.mimeType": "text/html",
  });
  expect(faceless?.outcome).toBe("succeeded");
  expect(faceless?.metadata).not.toHaveProperty("mcp.ui.content");
});

test("a process that leaves without closing its runtime leaves no server behind", async () => {
  const program = join(import.meta.dirname, "test-exit-program.ts");
  const server = join(import.meta.dirname, "test-server.ts");
  const { stdout, status } = spawnSync(process.execPath, ["--conditions=awaken-source", program, server], { encoding: "utf8" });
  expect(status).toBe(0);
  const { pid }: { pid: number } = JSON.parse(stdout);
  expect(pid).toBeGreaterThan(1);
  await vi.waitFor(() => expect(isAlive(pid)).toBe(false), 5_000);
});

test("an error of the server's own is its word, whatever its code: the call is over, and the connection good", async () => {
  const turns = [...Array.from({ length: 4 }, () => toolCall("mcp__s__errs", {})), DONE];
  const { run, plugin } = open({ servers: { s: badServer().server } }, turns);
  const ends = await run();
  expect(ends.map(({ message }) => message)).toEqual(ends.map(() => expect.stringMatching(/it is closed for nobody$/)));
  expect(ends).toHaveLength(4);
  expect(plugin.servers.status()[0]).toMatchObject({ state: "connected", consecutiveFailures: 0, sessionGeneration: 1 });
});

test("what a server was given as a secret is in no status, log or result, though the server repeats it", async () => {
  const API_KEY = "sk-not-for-anybody";
  const bad = badServer();
  const { run, plugin, log, model } = open({ servers: { s: { ...bad.server, env: { API_KEY } } } }, [
    toolCall("mcp__s__errs", {}),
    toolCall("mcp__s__die", {}),
    toolCall("mcp__s__echo", {}),
    DONE,
  ]);
  bad.breakIt(true);
  const broken = open({ servers: { s: { ...bad.server, env: { API_KEY } } } }, [DONE]);
  await broken.runtime.initialize();
  expect(broken.plugin.servers.status()[0]?.lastError).toContain("there is no database for ***");
  expect(broken.log.join()).toContain("there is no database for ***");
  bad.breakIt(false);
  const ends = await run();
  expect(ends[0]?.message).toContain("it is closed for ***");
  const said = JSON.stringify([ends, plugin.servers.status(), log, model.requests, broken.plugin.servers.status(), broken.log]);
  expect(said).not.toContain(API_KEY);
});

test("a server with more tools than anybody can use has the first thousand, and is said so once", async () => {
  const { runtime, plugin, log } = open({ servers: { s: badServer("flood-list").server } }, []);
  await runtime.initialize();
  await plugin.servers.refresh("s");
  const [status] = plugin.servers.status();
  expect(status?.tools).toHaveLength(1_000);
  expect(status?.leftOut).toEqual([{ tool: "and 300 more", reason: "a server may have 1000 tools" }]);
  expect(log).toEqual(["tool 'and 300 more' of MCP server 's' is left out: a server may have 1000 tools"]);
});

test("a server that is disabled while it is being connected is started no second time", async () => {
  const { server, messages, sent, mute } = badServer();
  const { runtime, plugin } = open({ servers: { s: server } }, []);
  const started = () => messages().flatMap((message) => (typeof message["started"] === "number" ? [message["started"]] : []));
  await runtime.initialize();
  mute();
  const asked = sent("server/discover").length;
  const restarting = plugin.servers.restart("s");
  await vi.waitFor(() => expect(sent("server/discover").length).toBeGreaterThan(asked), 10_000);
  const before = started().length;
  await plugin.servers.disable("s");
  await restarting;
  expect(started()).toHaveLength(before);
  await vi.waitFor(() => expect(started().filter(isAlive)).toEqual([]), 5_000);
  expect(plugin.servers.status()[0]).toMatchObject({ state: "disabled", tools: [] });
});

test("a runtime that opens while another one closes the servers that both have finds them open", async () => {
  const plugin = mcp({ servers: { s: badServer("deaf").server } });
  const create = () =>
    createRuntime({
      providers: { main: scripted([toolCall("mcp__s__echo", {}), DONE]) },
      models: { fast: { provider: "main", model: "up" } },
      agents: { assistant: { model: "fast", plugins: ["mcp"] } },
      plugins: [plugin],
    });
  const first = create();
  await first.initialize();
  const closing = first.close();
  // It hears no signal, so that its end takes a while.
  await vi.waitFor(() => expect(plugin.servers.status()[0]?.state).not.toBe("connected"), { interval: 5 });
  await using second = create();
  await second.initialize();
  await closing;
  expect(plugin.servers.status()[0]?.state).toBe("connected");
  const outcomes: string[] = [];
  for await (const event of second.stream({ input: "go" })) if (event.type === "tool-call-end") outcomes.push(event.outcome);
  expect(outcomes).toEqual(["succeeded"]);
});
