import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, describe, expect, it } from "vitest";
import { cli, Folders, jsonLines, startCli, Watch } from "./test-cli.ts";

const folders = new Folders();
afterAll(() => folders[Symbol.dispose]());

const NO_STACK = /\n\s+at |node:internal/;

describe.concurrent("awaken run", () => {
  it("streams the answer to stdout, and remarks to stderr", async () => {
    const cwd = folders.project();
    const { code, stdout, stderr } = await cli(["run", "hello", "--agent", "assistant", "--thread", "t1"], { cwd });
    expect({ code, stdout }).toEqual({ code: 0, stdout: "you said: hello\n" });
    expect(stderr).toMatch(/^thread t1, run \S+: 1 step, 0 tokens\n$/);
    // A thread that exists knows its agent.
    expect((await cli(["run", "again", "--thread", "t1"], { cwd })).stdout).toBe("you said: again\n");
  });

  it("writes one line of JSON for each event, and the result last", async () => {
    const { code, stdout, stderr } = await cli(["run", "hello", "--agent", "assistant", "--json"], { cwd: folders.project() });
    const lines = jsonLines(stdout);
    expect(lines[0]).toMatchObject({ type: "run-start" });
    expect(lines).toContainEqual({ type: "text-delta", delta: "you said: hello" });
    expect(lines.at(-1)).toMatchObject({ type: "result", text: "you said: hello", status: "done" });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  it.each([["--json"], ["--debug"]])("what a tool prints goes to stderr, cleaned: %s", async (option) => {
    const { stdout, stderr } = await cli(["run", "slowly", "--agent", "assistant", option], { cwd: folders.project() });
    expect(stdout).not.toContain("from the tool");
    expect(stderr).toContain("from the tool \n");
    if (option === "--json") expect(jsonLines(stdout).at(-1)).toMatchObject({ type: "result", status: "done" });
  });

  it("reads the input from a pipe, with - or without", async () => {
    const cwd = folders.project();
    for (const args of [["run"], ["run", "-"]]) {
      const { stdout } = await cli([...args, "--agent", "assistant", "--store", "memory"], { cwd, input: "from a pipe\n" });
      expect(stdout).toBe("you said: from a pipe\n");
    }
    expect(await cli(["run", "--agent", "assistant"], { cwd, input: " \n" })).toMatchObject({
      code: 2,
      stderr: 'error: the input is empty\nfix: awaken run "<input>"\n',
    });
  });

  it("gives the typed answer of an agent that has one", async () => {
    const { code, stdout } = await cli(["run", "plan", "--agent", "planner", "--store", "memory"], { cwd: folders.project() });
    expect({ code, answer: JSON.parse(stdout) }).toEqual({ code: 0, answer: { title: "A plan" } });
  });

  it("lets nothing through that a terminal would obey", async () => {
    const cwd = folders.project();
    const plain = await cli(["run", "evil", "--agent", "assistant", "--thread", "t", "--store", "e.db"], { cwd });
    expect(plain.stdout).toBe("red end\n");
    const shown = await cli(["show", "t", "--store", "e.db"], { cwd });
    const json = await cli(["show", "t", "--store", "e.db", "--json"], { cwd });
    for (const { stdout } of [shown, json]) {
      expect(stdout).toContain("red");
      // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must not be there
      expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
    }
  });

  it("is plain when it is piped or NO_COLOR is set, and coloured when it is told to be", async () => {
    const cwd = folders.project();
    const ask = (env: Readonly<Record<string, string>>) =>
      cli(["run", "broken", "--agent", "assistant", "--store", "memory"], { cwd, env });
    expect((await ask({ NO_COLOR: "1" })).stderr).not.toContain("\u001b");
    expect((await ask({ FORCE_COLOR: "1" })).stderr).toContain("\u001b[31m");
  });

  it("exits with 1 when the run fails, and says why in one line", async () => {
    const { code, stdout, stderr } = await cli(["run", "broken", "--agent", "assistant", "--store", "memory"], { cwd: folders.project() });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^error: .*the model is broken/m);
    expect(stderr).not.toMatch(NO_STACK);
  });

  it("lists the agents when it does not know the one that is asked for", async () => {
    const cwd = folders.project();
    const unknown = await cli(["run", "hi", "--agent", "asistant"], { cwd });
    expect(unknown).toEqual({
      code: 2,
      stdout: "",
      stderr: "error: there is no agent 'asistant' here\nfix: did you mean 'assistant'? agents are assistant, planner\n",
    });
    expect(await cli(["run", "hi"], { cwd })).toMatchObject({
      code: 2,
      stderr: "error: say which agent shall run\nfix: --agent, one of assistant, planner\n",
    });
  });
});

describe.concurrent("interrupts", () => {
  it("Ctrl-C cancels the run: 130, and the record says so", async () => {
    const cwd = folders.project();
    const child = startCli(["run", "slow", "--agent", "assistant", "--thread", "t"], { cwd });
    child.stdin.end();
    const stderr = text(child.stderr);
    await new Watch(child.stdout).shows("started");
    child.kill("SIGINT");
    await once(child, "close");
    expect(child.exitCode).toBe(130);
    expect(await stderr).toContain("error: the run was cancelled");
    const [run] = jsonLines((await cli(["runs", "--json"], { cwd })).stdout);
    expect(run).toMatchObject({ status: "done", outcome: { termination: { type: "cancelled" } } });
  });

  it.each([
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)("%s cancels the run, too: %i", async (signal, code) => {
    const cwd = folders.project();
    const child = startCli(["run", "slow", "--agent", "assistant", "--thread", "t"], { cwd });
    child.stdin.end();
    child.stderr.resume();
    await new Watch(child.stdout).shows("started");
    child.kill(signal);
    await once(child, "close");
    expect(child.exitCode).toBe(code);
    const [run] = jsonLines((await cli(["runs", "--json"], { cwd })).stdout);
    expect(run).toMatchObject({ status: "done", outcome: { termination: { type: "cancelled" } } });
  });

  it("SIGTERM ends a chat that is piped: its run is cancelled first", async () => {
    const cwd = folders.project();
    const child = startCli(["chat", "--agent", "assistant", "--thread", "t"], { cwd });
    child.stdin.write("slow\n");
    await new Watch(child.stdout).shows("started");
    child.kill("SIGTERM");
    await once(child, "close");
    expect(child.exitCode).toBe(143);
    const [run] = jsonLines((await cli(["runs", "--json"], { cwd })).stdout);
    expect(run).toMatchObject({ status: "done", outcome: { termination: { type: "cancelled" } } });
  });

  it("a reader that goes away does not end the run: it comes to its own end and exit code", async () => {
    const cwd = folders.project();
    const child = startCli(["run", "slowly", "--agent", "assistant", "--json"], { cwd });
    child.stdin.end();
    child.stderr.resume();
    await new Watch(child.stdout).shows("run-start");
    child.stdout.destroy();
    await once(child, "exit");
    expect(child.exitCode).toBe(0);
    expect(readFileSync(join(cwd, "effect.txt"), "utf8")).toBe("done");
    const [run] = jsonLines((await cli(["runs", "--json"], { cwd })).stdout);
    expect(run).toMatchObject({ status: "done", outcome: { termination: { type: "natural-end" } } });
  });

  it("a second Ctrl-C leaves at once, whatever a tool does", async () => {
    const child = startCli(["run", "stubborn", "--agent", "assistant"], { cwd: folders.project() });
    child.stdin.end();
    const stderr = new Watch(child.stderr);
    await stderr.shows("· stubborn {}");
    child.kill("SIGINT");
    await stderr.shows("once more leaves");
    // Signals that follow each other closely are one Ctrl-C.
    const again = setInterval(() => child.kill("SIGINT"), 100);
    await once(child, "close");
    clearInterval(again);
    // One that comes while it leaves ends it as well, which is 130 to a shell.
    expect(child.signalCode === "SIGINT" ? 130 : child.exitCode).toBe(130);
  });
});

describe.concurrent("awaken decide", () => {
  const wait = async (input = "refund", thread = "t") => {
    const cwd = folders.project();
    const first = await cli(["run", input, "--agent", "assistant", "--thread", thread], { cwd });
    const tickets = [...new Set([...first.stdout.matchAll(/awaken decide (\S+) --approve/g)].map(([, id = ""]) => id))];
    return { cwd, first, tickets, ticket: tickets[0] ?? "" };
  };

  it("a run that waits exits with 3 and says what to type; an approval with an edited input goes on", async () => {
    const { cwd, first, ticket } = await wait();
    expect(first.code).toBe(3);
    expect(first.stdout).toContain(`waits for a decision: ${ticket}`);
    expect(first.stdout).toContain("Refund 120?");
    expect(first.stdout).toContain(`awaken decide ${ticket} --approve --input '{"amount":120}'`);
    const done = await cli(["decide", ticket, "--approve", "--input", '{"amount":90}', "--by", "ana"], { cwd });
    expect(done).toMatchObject({ code: 0, stdout: "result: refunded 90\n" });
    const again = await cli(["decide", ticket, "--approve"], { cwd });
    expect(again.code).toBe(2);
    expect(again.stderr).toMatch(/^error: the ticket '\S+' of run '\S+' is not open any more\nfix: /);
  });

  it("denies with a reason that the model reads, and answers with a result", async () => {
    const denied = await wait();
    expect((await cli(["decide", denied.ticket, "--deny", "too much"], { cwd: denied.cwd })).stdout).toContain("too much");
    const answered = await wait();
    const { stdout } = await cli(["decide", answered.ticket, "--answer", '{"ok":true}', "--json"], { cwd: answered.cwd });
    expect(jsonLines(stdout).at(-1)).toMatchObject({ type: "result", status: "done", text: 'result: {"ok":true}' });
    const shown = await wait();
    const { stderr } = await cli(["decide", shown.ticket, "--answer", '{"ok":true}'], { cwd: shown.cwd });
    expect(stderr).toContain('· refund answered {"ok":true}');
  });

  it("waits again while a second ticket is open", async () => {
    const { cwd, tickets } = await wait("two");
    const [one = "", two = ""] = tickets;
    const second = await cli(["decide", two, "--approve"], { cwd });
    expect(second.code).toBe(3);
    expect(second.stdout).toContain(`waits for a decision: ${one}`);
    expect((await cli(["decide", one, "--deny", "no"], { cwd })).code).toBe(0);
  });

  it("a refused edit leaves the run waiting", async () => {
    const { cwd, ticket } = await wait();
    const refused = await cli(["decide", ticket, "--approve", "--input", '{"amount":"x"}'], { cwd });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/^error: .*edited input does not fit: amount/);
    expect(jsonLines((await cli(["runs", "--json"], { cwd })).stdout)[0]).toMatchObject({ status: "waiting" });
  });

  it("takes the id of a call only together with its run: another run may have it, too", async () => {
    const { cwd } = await wait("refund", "one");
    await cli(["run", "refund", "--agent", "assistant", "--thread", "other"], { cwd });
    expect(await cli(["decide", "c1", "--approve"], { cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("no run waits with the ticket 'c1'"),
    });
    const named = jsonLines((await cli(["runs", "--json"], { cwd })).stdout).map((run) =>
      run !== null && "runId" in run ? String(run["runId"]) : "",
    );
    const [first = "", second = ""] = named;
    expect((await cli(["decide", "c1", "--approve", "--run", first], { cwd })).code).toBe(0);
    // The end of the run's id is enough.
    expect((await cli(["decide", "c1", "--approve", "--run", second.slice(-12)], { cwd })).code).toBe(0);
  });

  it("refuses what it cannot understand before anything happens", async () => {
    const cwd = folders.project();
    const refused = async (...args: readonly string[]) => (await cli(["decide", "c1", ...args], { cwd })).stderr.split("\n")[0];
    expect(await refused()).toBe("error: say one of --approve, --deny <reason> and --answer <json>");
    expect(await refused("--approve", "--deny", "x")).toBe("error: say one of --approve, --deny <reason> and --answer <json>");
    expect(await refused("--answer", "{")).toMatch(/^error: --answer is no JSON: /);
    expect(await refused("--deny", "x", "--input", "{}")).toMatch(/^error: --input edits the input of an approval/);
    expect(await refused("--approve")).toBe("error: no run waits with the ticket 'c1'");
  });
});
