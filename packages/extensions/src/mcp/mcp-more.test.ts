import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fakeClock, text, toolCall } from "@awaken/runtime/testing";
import { expect, test, vi } from "vitest";
import { badServer, isAlive, open } from "./mcp.test-support.ts";

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
