import { isJsonObject, type JsonObject, type JsonValue } from "@awaken/contract";
import { definePlugin } from "@awaken/runtime";
import { fakeClock, text, toolCall, toolCalls } from "@awaken/runtime/testing";
import { describe, expect, test, vi } from "vitest";
import { atEnd, badServer, folder, isAlive, npmServer, open } from "./mcp.test-support.ts";
import { mcp } from "./mcp.ts";
import { mcpServerPrefix, mcpToolId } from "./tool-id.ts";

const DONE = text("done");

/** Several calls in one turn. */
const calls = (...list: readonly (readonly [name: string, input: JsonObject])[]) =>
  toolCalls(list.map(([name, input]) => ({ name, input })));

const parsed = (data: JsonValue | undefined) => {
  const value: unknown = JSON.parse(String(data));
  if (!isJsonObject(value)) throw new Error("expected an object");
  return value;
};

test("extensions 41: server `my-srv` tool `get.Forecast` becomes `mcp__my_srv__get_Forecast`, for helpers, agents and models alike", async () => {
  expect(mcpToolId("my-srv", "get.Forecast")).toBe("mcp__my_srv__get_Forecast");
  expect(mcpToolId("--a!!b--", "__x..y__")).toBe("mcp__a_b__x_y");
  expect(mcpServerPrefix("my-srv")).toBe("mcp__my_srv__");
  expect(() => mcpToolId("a", "???")).toThrow("MCP tool '???' has no letter or digit");
  const { run, model } = open({ servers: { "my-srv": badServer().server } }, [
    toolCall("mcp__my_srv__get_Forecast", { city: "Oslo" }),
    DONE,
  ]);
  const [end] = await run();
  expect(end?.outcome).toBe("succeeded");
  expect(parsed(end?.data)).toMatchObject({
    args: { city: "Oslo" },
    meta: { "awaken/attribution": { agentId: "assistant", threadId: "t", callId: "call-1", idempotencyKey: expect.any(String) } },
  });
  expect(end?.metadata).toMatchObject({ "mcp.server": "my-srv", "mcp.tool": "get.Forecast" });
  const offered = model.requests[0]?.tools.find(({ id }) => id === "mcp__my_srv__get_Forecast");
  expect(offered).toMatchObject({
    description: "Does get.Forecast",
    parameters: { type: "object" },
    metadata: { "mcp.transport": "stdio" },
  });
});

test("extensions 41: two servers that would share ids are refused; of two tools that do the later is left out and said so", async () => {
  const { server } = badServer("clash");
  expect(() => mcp({ servers: { "a-b": server, a_b: server } })).toThrow("servers 'a-b' and 'a_b' would both have tools 'mcp__a_b__…'");
  const { runtime, plugin, log } = open({ servers: { x: server } }, []);
  await runtime.initialize();
  const [status] = plugin.servers.status();
  expect(status?.tools).toEqual(["mcp__x__a_b", "mcp__x__fine"]);
  expect(status?.leftOut.map(({ tool }) => tool)).toEqual(["a_b", "???"]);
  expect(log).toContain("tool 'a_b' of MCP server 'x' is left out: its id 'mcp__x__a_b' is that of a tool before it");
});

test("extensions 42: one unreachable server prevents neither the runtime nor other servers' tools", async () => {
  const servers = { gone: { command: "no-such-program" }, nowhere: { url: "http://127.0.0.1:1/mcp" }, good: badServer().server };
  const { runtime, plugin, run, log } = open({ servers }, [toolCall("mcp__good__echo", {}), DONE]);
  await runtime.initialize();
  expect(plugin.servers.status().map(({ id, state }) => [id, state])).toEqual([
    ["gone", "disconnected"],
    ["nowhere", "disconnected"],
    ["good", "connected"],
  ]);
  expect(plugin.servers.status()[0]?.lastError).toContain("'no-such-program' could not be started");
  expect(log).toHaveLength(2);
  expect((await run()).map(({ outcome }) => outcome)).toEqual(["succeeded"]);
});

test("extensions 42: an agent that names a missing MCP tool fails alone", async () => {
  const { runtime } = open({ servers: { good: badServer().server } }, [text("fine")], {
    agents: {
      picky: { model: "fast", plugins: ["mcp"], tools: ["mcp__good__nothing"] },
      easy: { model: "fast", plugins: ["mcp"], tools: ["mcp__good__echo"] },
    },
  });
  await runtime.initialize();
  await expect(runtime.run({ agent: "picky", input: "x" })).rejects.toThrow("agent 'picky' uses missing tool 'mcp__good__nothing'");
  expect(await runtime.run({ agent: "easy", input: "x" })).toMatchObject({ status: "done", text: "fine" });
});

test("extensions 43: `isError` results, and errors of the protocol, reach the model as tool errors and the run continues", async () => {
  const { run, model, plugin } = open({ servers: { s: badServer().server } }, [
    calls(["mcp__s__fails", {}], ["mcp__s__refuses", {}]),
    text("I see"),
  ]);
  const ends = await run();
  expect(ends).toMatchObject([
    { outcome: "failed", code: "execution_failed", message: "it did not work", metadata: { "mcp.result.isError": true } },
    { outcome: "failed", code: "execution_failed", message: expect.stringContaining("no such city") },
  ]);
  expect(JSON.stringify(model.requests[1]?.messages)).toContain("it did not work");
  expect(plugin.servers.status()[0]?.consecutiveFailures).toBe(0);
});

describe("extensions 44: cancelling a run", () => {
  test("sends `notifications/cancelled` exactly once for a call that is under way", async () => {
    const { server, sent } = badServer();
    const { runtime } = open({ servers: { s: server } }, [toolCall("mcp__s__hang", {})]);
    const run = runtime.stream({ agent: "assistant", thread: "t", input: "go" });
    await vi.waitFor(() => expect(sent("tools/call")).toHaveLength(1), 10_000);
    await runtime.cancel(run.id);
    expect(await run.result).toMatchObject({ status: "cancelled" });
    await vi.waitFor(() => expect(sent("notifications/cancelled")).toHaveLength(1));
    const [call] = sent("tools/call");
    expect(sent("notifications/cancelled")).toMatchObject([{ params: { requestId: call?.["id"], reason: "client run cancelled" } }]);
    await runtime[Symbol.asyncDispose]();
    expect(sent("notifications/cancelled")).toHaveLength(1);
  });

  test("sends none for a call that was not sent", async () => {
    const { server, sent, messages } = badServer();
    const stopper = definePlugin({
      id: "stopper",
      register: (r) =>
        r.hook("beforeToolExecute", async () => {
          await runtime.cancel("t");
        }),
    });
    const { plugin, runtime } = open({ servers: { s: server } }, [toolCall("mcp__s__echo", {})]);
    runtime.registry.update(({ plugins, agents }) => {
      plugins["stopper"] = stopper;
      agents["assistant"] = { model: "fast", plugins: ["mcp", "stopper"] };
    });
    expect(await runtime.run({ agent: "assistant", thread: "t", input: "go" })).toMatchObject({ status: "cancelled" });
    // A message that is read after all that came before it.
    await plugin.servers.refresh("s");
    expect(messages().length).toBeGreaterThan(0);
    expect([sent("tools/call").length, sent("notifications/cancelled").length]).toEqual([0, 0]);
  });
});

test("extensions 46: progress is throttled to 100 ms or 1 % steps and always includes the final 1.0", async () => {
  const { runtime } = open({ servers: { s: badServer().server } }, [toolCall("mcp__s__progress", {}), DONE], { clock: fakeClock(0) });
  const seen: number[] = [];
  for await (const event of runtime.stream({ agent: "assistant", input: "go" })) {
    if (event.type !== "activity-snapshot" || !isJsonObject(event.content)) continue;
    const { progress } = event.content;
    if (typeof progress === "number") seen.push(progress);
  }
  // A thousand were sent, and the clock stands still.
  expect(seen.length).toBeLessThanOrEqual(102);
  expect(seen.length).toBeGreaterThan(90);
  expect(seen.at(-1)).toBe(1);
  expect(seen.every((value, index) => index === 0 || value === 1 || value - (seen[index - 1] ?? 0) >= 0.0099)).toBe(true);
});

test("extensions 47: lists longer than one page are read completely", async () => {
  const { runtime, plugin } = open({ servers: { s: badServer("many").server } }, []);
  await runtime.initialize();
  expect(plugin.servers.status()[0]?.tools).toHaveLength(25);
});

test("extensions 48: three failures in a row reconnect while the old tools stay; five failed attempts give up; a restart clears it", async () => {
  const clock = fakeClock(0);
  const { server, breakIt, sent } = badServer();
  const turns = [
    toolCall("mcp__s__hang", {}),
    toolCall("mcp__s__hang", {}),
    toolCall("mcp__s__hang", {}),
    toolCall("mcp__s__echo", {}),
    DONE,
  ];
  const { runtime, plugin, run } = open({ servers: { s: server } }, [...turns, toolCall("mcp__s__echo", {}), DONE], { clock });
  const status = () => plugin.servers.status()[0];
  await runtime.initialize();
  const tools = status()?.tools;
  breakIt(true);
  const running = run();
  for (let index = 1; index <= 3; index += 1) {
    await vi.waitFor(() => expect(sent("tools/call")).toHaveLength(index), 10_000);
    await clock.advance(30_000);
  }
  const ends = await running;
  expect(ends.map(({ code }) => code)).toEqual(["timeout", "timeout", "timeout", "execution_failed"]);
  expect(ends[3]?.message).toContain("MCP server 's' is not connected (reconnecting)");
  expect(status()).toMatchObject({ state: "reconnecting", consecutiveFailures: 3, tools });
  for (const seconds of [1, 2, 4, 8, 16]) {
    expect(status()).toMatchObject({ state: "reconnecting", tools });
    await clock.advance(seconds * 1_000 - 1);
    expect(status()?.lastAttemptAt).not.toBe(clock.now());
    await clock.advance(1);
    expect(status()?.lastAttemptAt).toBe(clock.now());
    // Its program is started and leaves, which takes its time.
    await vi.waitFor(() => expect(clock.pendingTimers > 0 || status()?.state === "permanently_failed").toBe(true), 10_000);
  }
  expect(status()).toMatchObject({ state: "permanently_failed", tools: [], lastError: expect.stringContaining("there is no database") });
  breakIt(false);
  await plugin.servers.restart("s");
  expect(status()).toMatchObject({ state: "connected", consecutiveFailures: 0, tools, lastError: undefined, sessionGeneration: 2 });
  expect((await run("t2")).map(({ outcome }) => outcome)).toEqual(["succeeded"]);
});

test("extensions 50: closing leaves no child process after 600 ms, also not one that hears no signal, nor what it started", async () => {
  const { runtime, run } = open({ servers: { s: badServer("deaf").server } }, [calls(["mcp__s__echo", {}], ["mcp__s__child", {}]), DONE]);
  const [own, child] = await run();
  const pids = [Number(parsed(own?.data)["pid"]), Number(child?.data)];
  expect(pids.map(isAlive)).toEqual([true, true]);
  const from = performance.now();
  await runtime[Symbol.asyncDispose]();
  await vi.waitFor(() => expect(pids.map(isAlive)).toEqual([false, false]), { timeout: 600, interval: 10 });
  expect(performance.now() - from).toBeLessThan(5_000);
});

describe("a server that is bad", () => {
  test("and dies fails its calls at once, is started again, and never fails the agent", async () => {
    const clock = fakeClock(0);
    const { server } = badServer();
    const turns = [calls(["mcp__s__hang", {}], ["mcp__s__die", {}]), text("I see"), toolCall("mcp__s__echo", {}), DONE];
    const { run, plugin } = open({ servers: { s: server } }, turns, { clock });
    const ends = await run();
    expect(ends.map(({ code }) => code)).toEqual(["execution_failed", "execution_failed"]);
    expect(ends[0]?.message).toMatch(/did not bring the call to its end: .*Whether the call took effect is not known/);
    expect(plugin.servers.status()[0]).toMatchObject({ state: "reconnecting", tools: expect.arrayContaining(["mcp__s__echo"]) });
    await clock.advance(1_000);
    await vi.waitFor(() => expect(plugin.servers.status()[0]?.state).toBe("connected"), 10_000);
    expect(plugin.servers.status()[0]).toMatchObject({ sessionGeneration: 2, transportReconnectCount: 1 });
    expect((await run("t2")).map(({ outcome }) => outcome)).toEqual(["succeeded"]);
  });

  test("and is killed from outside fails its calls at once", async () => {
    const { run, runtime, plugin } = open({ servers: { s: badServer().server } }, [
      toolCall("mcp__s__echo", {}),
      toolCall("mcp__s__hang", {}),
      text("I see"),
    ]);
    const first = runtime.stream({ agent: "assistant", thread: "t", input: "go" });
    let pid = 0;
    for await (const event of first) {
      if (event.type === "tool-call-end" && event.result?.type === "success") pid = Number(parsed(event.result.data)["pid"]);
      if (event.type === "tool-call-start" && event.toolName === "mcp__s__hang")
        setTimeout(() => void (pid > 1 && process.kill(pid, "SIGKILL")), 50);
    }
    expect(await first.result).toMatchObject({ status: "done", text: "I see" });
    expect(plugin.servers.status()[0]?.state).toBe("reconnecting");
    expect(run).toBeDefined();
  });

  test("and floods is cut off", async () => {
    const { run, plugin } = open({ servers: { s: badServer().server } }, [toolCall("mcp__s__flood", {}), text("I see")]);
    const ends = await run();
    expect(ends).toMatchObject([{ outcome: "failed", code: "execution_failed" }]);
    expect(plugin.servers.status()[0]?.state).toBe("reconnecting");
  });

  test("and answers with broken JSON costs that call its time, and no other call", async () => {
    const clock = fakeClock(0);
    const { server, sent } = badServer();
    const { run, runtime, plugin } = open(
      { servers: { s: server } },
      [calls(["mcp__s__broken", {}], ["mcp__s__echo", {}]), text("I see")],
      { clock },
    );
    await runtime.initialize();
    await clock.advance(5);
    const running = run();
    await vi.waitFor(() => expect(sent("tools/call")).toHaveLength(2), 10_000);
    await vi.waitFor(() => expect(plugin.servers.status()[0]?.lastSuccessAt).toBe(5), 10_000);
    await clock.advance(30_000);
    const ends = await running;
    expect(ends.map(({ name, outcome }) => [name, outcome]).sort()).toEqual([
      ["mcp__s__broken", "failed"],
      ["mcp__s__echo", "succeeded"],
    ]);
  });

  test("and changes its tools in mid-run: the run keeps its list, the next has the new one; a tool that went is an error", async () => {
    const turns = [
      toolCall("mcp__s__grow", {}),
      toolCall("mcp__s__shrink", {}),
      toolCall("mcp__s__echo", {}),
      DONE,
      toolCall("mcp__s__grown", {}),
      DONE,
    ];
    const { runtime, run, model, plugin } = open({ servers: { s: badServer().server } }, turns, {});
    const listed = () => plugin.servers.status()[0]?.tools ?? [];
    const waiter = definePlugin({
      id: "waiter",
      register: (r) =>
        r.hook("stepEnd", async ({ step }) => {
          if (step === 1) await vi.waitFor(() => expect(listed()).toContain("mcp__s__grown"), 5_000);
          if (step === 2) await vi.waitFor(() => expect(listed()).not.toContain("mcp__s__echo"), 5_000);
        }),
    });
    runtime.registry.update(({ plugins, agents }) => {
      plugins["waiter"] = waiter;
      agents["assistant"] = { model: "fast", plugins: ["mcp", "waiter"] };
    });
    const ends = await run();
    expect(ends[2]).toMatchObject({ outcome: "failed", code: "not_found" });
    const offered = model.requests.map(({ tools }) => tools.map(({ id }) => id));
    expect(offered.slice(0, 4).every((ids) => ids.includes("mcp__s__echo") && !ids.includes("mcp__s__grown"))).toBe(true);
    expect((await run("t2")).map(({ outcome }) => outcome)).toEqual(["succeeded"]);
    expect(model.requests.at(-1)?.tools.map(({ id }) => id)).toContain("mcp__s__grown");
  });

  test("and leaves when it is asked for the newer protocol is spoken to in the older", async () => {
    const { runtime, plugin } = open({ servers: { s: badServer("leaves").server } }, []);
    await runtime.initialize();
    expect(plugin.servers.status()[0]).toMatchObject({ state: "connected", protocolVersion: "2025-11-25" });
  });
});

test("a child has a small environment: ours is not in it, what it is given is", async () => {
  process.env["AWAKEN_TEST_KEY"] = "sk-secret";
  atEnd(() => void Reflect.deleteProperty(process.env, "AWAKEN_TEST_KEY"));
  const { run } = open({ servers: { s: { ...badServer().server, env: { TOKEN: "given" } } } }, [toolCall("mcp__s__env", {}), DONE]);
  const env = parsed((await run())[0]?.data);
  expect(env).toMatchObject({ TOKEN: "given", PATH: process.env["PATH"] });
  expect(Object.keys(env).filter((name) => !["PATH", "HOME", "LANG", "TMPDIR", "TOKEN"].includes(name) && !name.startsWith("__"))).toEqual(
    [],
  );
});

test("a disabled server has no tools and no process, until it is enabled", async () => {
  const { runtime, plugin, run, model } = open({ servers: { s: badServer().server } }, [text("none"), toolCall("mcp__s__echo", {}), DONE]);
  await runtime.initialize();
  const disabling = plugin.servers.disable("s");
  expect(plugin.servers.status()[0]).toMatchObject({ state: "disabling", tools: [] });
  await disabling;
  expect(plugin.servers.status()[0]).toMatchObject({ state: "disabled", tools: [] });
  await run();
  expect(model.requests[0]?.tools).toEqual([]);
  await plugin.servers.enable("s");
  expect((await run("t2")).map(({ outcome }) => outcome)).toEqual(["succeeded"]);
  await expect(plugin.servers.restart("t")).rejects.toThrow("MCP server 't': there is none of that id");
});

describe("servers that others wrote, over stdio", () => {
  test("filesystem: reads and lists inside its root and nowhere else", async () => {
    const path = folder();
    const turns = [
      toolCall("mcp__files__write_file", { path: `${path}/a.txt`, content: "hello" }),
      calls(["mcp__files__read_text_file", { path: `${path}/a.txt` }], ["mcp__files__read_text_file", { path: "/etc/passwd" }]),
      DONE,
    ];
    const ends = await open({ servers: { files: npmServer("filesystem", path) } }, turns).run();
    expect(ends.map(({ outcome }) => outcome)).toEqual(["succeeded", "succeeded", "failed"]);
    expect(ends[1]?.data).toBe("hello");
    expect(ends[2]?.message).toContain("Access denied");
  });

  test("memory: what one run wrote another reads, after a restart of the runtime", async () => {
    const env = { MEMORY_FILE_PATH: `${folder()}/memory.json` };
    const servers = { memory: { ...npmServer("memory"), env } };
    const entities = [{ name: "Ana", entityType: "person", observations: ["likes tea"] }];
    const first = open({ servers }, [toolCall("mcp__memory__create_entities", { entities }), DONE]);
    expect((await first.run()).map(({ outcome }) => outcome)).toEqual(["succeeded"]);
    await first.runtime[Symbol.asyncDispose]();
    const ends = await open({ servers }, [toolCall("mcp__memory__read_graph", {}), DONE]).run();
    expect(JSON.stringify(ends)).toContain("likes tea");
  });

  test("everything: text, sums, pictures, structure, progress", async () => {
    const { run, model } = open({ servers: { all: npmServer("everything", "stdio") } }, [
      calls(
        ["mcp__all__echo", { message: "hi" }],
        ["mcp__all__get_sum", { a: 2, b: 3 }],
        ["mcp__all__get_tiny_image", {}],
        ["mcp__all__get_structured_content", { location: "New York" }],
        ["mcp__all__trigger_long_running_operation", { duration: 0.2, steps: 2 }],
      ),
      DONE,
    ]);
    const ends = new Map((await run()).map((end) => [end.name, end]));
    expect(ends.get("mcp__all__echo")?.data).toBe("Echo: hi");
    expect(ends.get("mcp__all__get_sum")?.data).toContain("5");
    expect(ends.get("mcp__all__get_structured_content")?.metadata).toMatchObject({
      "mcp.result.structuredContent": { conditions: expect.any(String) },
    });
    const picture = ends.get("mcp__all__get_tiny_image");
    expect(picture?.message).toContain("image");
    expect(picture?.message).not.toContain("iVBOR");
    expect(JSON.stringify(model.requests[1]?.messages)).toContain('"type":"image"');
    expect([...ends.values()].every(({ outcome }) => outcome === "succeeded")).toBe(true);
  });
});
