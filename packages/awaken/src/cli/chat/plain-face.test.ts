import { PassThrough } from "node:stream";
import { messageText, threadId } from "@awaken/contract";
import { allow, ask, defineTool } from "@awaken/runtime";
import { failure, parts, scripted, text, toolCall, toolCalls } from "@awaken/runtime/testing";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { openDriver, openProject, type ProjectParts } from "./chat.test-support.ts";
import { plainFace } from "./plain-face.ts";

const refund = defineTool({
  id: "refund",
  description: "Refund an order",
  input: z.object({ orderId: z.string(), amount: z.number().max(1_000) }),
  approve: ({ orderId, amount }) => (amount > 100 ? ask(`Refund ${amount} for ${orderId}?`) : allow()),
  execute: async ({ orderId, amount }, { progress }) => {
    progress({ loaded: 1, total: 2, message: "paying" });
    return `refunded ${amount} for ${orderId}`;
  },
});

interface Talk {
  readonly code: number;
  /** On both streams. */
  readonly said: string;
  readonly stdout: string;
}

/** Gives these lines and the end of input, and gets everything that was written. */
async function talk(
  given: ProjectParts,
  lines: readonly string[],
  options: { readonly agent?: string; readonly thread?: string } = {},
): Promise<Talk> {
  const project = openProject({ tools: [refund], ...given });
  const stdin = new PassThrough();
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const chunks: { readonly from: PassThrough; readonly text: string }[] = [];
  for (const from of [stdout, stderr]) {
    from.setEncoding("utf8");
    from.on("data", (text: string) => chunks.push({ from, text }));
  }
  stdin.end(lines.map((line) => `${line}\n`).join(""));
  const interrupts = { signal: new AbortController().signal, exitCode: 130 };
  const code = await plainFace(openDriver(project, options.agent), options.thread, { stdin, stdout, stderr, interrupts });
  await project.runtime[Symbol.asyncDispose]();
  const joined = (wanted: readonly PassThrough[]) => chunks.flatMap(({ from, text }) => (wanted.includes(from) ? [text] : [])).join("");
  return { code, said: joined([stdout, stderr]), stdout: joined([stdout]) };
}

const ask120 = toolCall("refund", { orderId: "7", amount: 120 }, { id: "call-1" });

describe("the chat line by line", () => {
  it("answers one line after another and ends with the input", async () => {
    const provider = scripted([text("One", " and", " more."), text("Two.")]);
    const { code, said, stdout } = await talk({ provider }, ["first", "", "second"]);
    expect(code).toBe(0);
    expect(stdout).toBe("One and more.\nTwo.\n");
    expect(said).toBe("- thread thread-1, agent support\nOne and more.\nTwo.\n");
  });

  it("begins a thread of its own, unless one is named: then its answer stands alone, too", async () => {
    const store = memoryStore();
    await talk({ provider: scripted([text("Old.")]), store }, ["before"], { thread: "old" });
    expect((await talk({ provider: scripted([text("New.")]), store }, ["hi"])).stdout).toBe("New.\n");
    expect((await store.threads.list({})).items.map(({ id }) => id).toSorted()).toEqual(["old", "thread-1"]);
    expect((await talk({ provider: scripted([text("Again.")]), store }, ["hi"], { thread: "old" })).stdout).toBe("Again.\n");
    expect(await store.messages.count((await store.threads.list({})).items[0]?.id ?? threadId(""))).toBe(4);
  });

  it("answers what a command asks for on stdout, and remarks on stderr", async () => {
    const provider = scripted([toolCall("refund", { orderId: "7", amount: 9 }), text("Paid.")]);
    const { stdout, said } = await talk({ provider }, ["/agents", "/agent planner", "go", "/nope"]);
    expect(stdout).toBe("- * support\n    planner\nPaid.\n");
    expect(said).toContain("messages go to planner now");
    expect(said).toContain("unknown command /nope");
  });

  it("a character that comes in two halves is one, alone or in a text, in words and in data", async () => {
    const [high, low] = ["\ud83d", "\ude00"];
    const outputs = new Map([["planner", z.object({ mood: z.string() })]]);
    expect((await talk({ provider: scripted([text(high, low, ` a${high}`, `${low}b`)]) }, ["hi"])).stdout).toBe("\u{1f600} a\u{1f600}b\n");
    const data = await talk({ provider: scripted([text(`{"mood":"${high}`, `${low}"}`)]), outputs }, ["hi"], { agent: "planner" });
    expect(data.stdout).toBe('{\n  "mood": "\u{1f600}"\n}\n');
  });

  it("tells calls when they begin, report and end", async () => {
    const provider = scripted([toolCalls([{ name: "refund", input: { orderId: "7", amount: 9 } }], { say: "Paying." }), text("Paid.")]);
    const { said } = await talk({ provider }, ["go"]);
    expect(said.split("\n").slice(1)).toEqual([
      "Paying.",
      '* refund {"orderId":"7","amount":9}',
      '* refund {"orderId":"7","amount":9} 1 of 2 paying',
      '* refund {"orderId":"7","amount":9} succeeded: refunded 9 for 7',
      "Paid.",
      "",
    ]);
  });

  it("leaves an approval waiting at the end of input, with its ticket", async () => {
    const store = memoryStore();
    const { code, said } = await talk({ provider: scripted([ask120]), store }, ["Refund 7"]);
    expect(code).toBe(3);
    expect(said).toMatch(/\? #1 Refund 120 for 7\?\n {2}refund \{"orderId":"7","amount":120\}\n {2}ticket \S+\n/);
    expect(await store.runs.countByStatus()).toMatchObject({ waiting: 1, done: 0 });
  });

  it.each([
    ["/approve", "succeeded: refunded 120 for 7"],
    ['/approve {"orderId":"7","amount":90}', "succeeded: refunded 90 for 7"],
    ["/deny too much", "denied: too much"],
    ['/answer {"by":"hand"}', 'answered: {"by":"hand"}'],
  ])("decides by the next line: %s", async (line, expected) => {
    const { said } = await talk({ provider: scripted([ask120, text("Done.")]) }, ["Refund 7", line]);
    expect(said).toContain(expected);
    expect(said.trimEnd().split("\n").at(-1)).toBe("Done.");
  });

  it("a decision that does not fit changes nothing, and can be made again", async () => {
    const lines = ["Refund 7", '/approve {"orderId":"7","amount":9999}', "/approve {nonsense", "/approve"];
    const { said } = await talk({ provider: scripted([ask120, text("Done.")]) }, lines);
    expect(said).toMatch(/error: decision about 'refund' \(\S+\): the edited input does not fit/);
    expect(said).toContain("error: the edited input must be JSON");
    expect(said).toContain("succeeded: refunded 120 for 7");
  });

  it("goes on with what waits in another process, by thread", async () => {
    const store = memoryStore();
    await talk({ provider: scripted([ask120]), store }, ["Refund 7"], { thread: "orders" });
    const { said } = await talk({ provider: scripted([text("Done.")]), store }, ["/approve"], { thread: "orders" });
    expect(said).toContain("- thread orders, agent support\n? #1 Refund 120 for 7?\n");
    expect(said).toContain("? #1 approved\n");
    expect(said).toContain("Done.");
  });

  it("a message while a call waits is held back, and asks; the call still waits, and can be decided", async () => {
    const store = memoryStore();
    const { said, code } = await talk({ provider: scripted([ask120]), store }, ["Refund 7", "what is the weather?"]);
    expect(said).toContain("! not sent: call #1 waits for a decision, and a message would withdraw it\n  decide first, /send sends it");
    expect(said).not.toContain("will not run");
    expect(code).toBe(3);
    expect(await store.runs.countByStatus()).toMatchObject({ waiting: 1 });
    const after = await talk({ provider: scripted([text("Done.")]), store }, ["yes"], { thread: "thread-1" });
    expect(after.said).toContain("succeeded: refunded 120 for 7");
  });

  it.each([[["never mind", "/send"]], [["/send never mind"]]])(
    "a message that is meant gives the waiting call up, and says so: %j",
    async (lines) => {
      const provider = scripted([ask120, text("All right.")]);
      const { said } = await talk({ provider }, ["Refund 7", ...lines]);
      expect(provider.requests[1]?.messages.map(messageText)).toContain("never mind");
      expect(said).toContain("! the call that waited will not run: a new message came");
      expect(said).toContain("? #1 withdrawn");
      expect(said).toContain("All right.");
    },
  );

  it.each([
    ["Yes", "succeeded: refunded 120 for 7"],
    ["ok", "succeeded: refunded 120 for 7"],
    ["n", "denied"],
  ])("a lone %s decides about the one call that waits", async (line, expected) => {
    const { said } = await talk({ provider: scripted([ask120, text("Done.")]) }, ["Refund 7", line]);
    expect(said).toContain(expected);
    expect(said).not.toContain("will not run");
  });

  const two = toolCalls([
    { name: "refund", input: { orderId: "7", amount: 120 }, id: "call-1" },
    { name: "refund", input: { orderId: "8", amount: 130 }, id: "call-2" },
  ]);
  const DONE_7 = "succeeded: refunded 120 for 7";
  const DONE_8 = "succeeded: refunded 130 for 8";

  it.each([
    [["yes"], [], [DONE_7, DONE_8]],
    [["yes", "2"], [DONE_8], [DONE_7]],
    [["ok", "#1"], [DONE_7], [DONE_8]],
    [["yes", "all"], [DONE_7, DONE_8], []],
    [["yes all"], [DONE_7, DONE_8], []],
    [["Yes, 2."], [DONE_8], [DONE_7]],
    [["no all"], ["#1 denied", "#2 denied"], [DONE_7]],
    [["yes", "no", "1"], ["#1 denied"], [DONE_7, DONE_8]],
    [["/approve"], ["2 calls wait: say which of #1, #2, or all"], [DONE_7, DONE_8]],
  ])("with two calls that wait, yes asks which: %j", async (lines, expected, not) => {
    const { said, code } = await talk({ provider: scripted([two, text("Done.")]) }, ["Refund both", ...lines]);
    if (/^(?:yes|ok)$/.test(lines[0] ?? "")) expect(said).toContain("! 2 calls wait: which do you approve? #1, #2, or all\n");
    for (const part of expected) expect(said).toContain(part);
    for (const part of not) expect(said).not.toContain(part);
    expect(code).toBe(said.includes("Done.") ? 0 : 3);
  });

  it("yes is a message where nothing waits", async () => {
    expect((await talk({ provider: scripted([text("Fine.")]) }, ["yes"])).stdout).toBe("Fine.\n");
  });

  it("tells of a retry and its reason while nothing comes", async () => {
    const provider = scripted([failure("provider", "bad gateway"), text("Here.")]);
    const { said, stdout } = await talk({ provider }, ["hi"]);
    expect(said).toMatch(/the model is asked again .*\(retry 1\): .*bad gateway/);
    expect(stdout).toBe("Here.\n");
  });

  it("a failure comes with what can be done about it", async () => {
    const { said } = await talk({ provider: scripted([failure("unauthorized", "no such key")]) }, ["hi"]);
    expect(said).toMatch(/error: the model's vendor refused the key: .*no such key.*\n {2}fix: set the right key/);
  });

  it("ends a run that waits: /cancel", async () => {
    const store = memoryStore();
    const { said } = await talk({ provider: scripted([ask120]), store }, ["Refund 7", "/cancel", "/cancel"]);
    expect(said).toContain("! cancelled");
    expect(said).toContain("! no run to cancel");
    expect(await store.runs.countByStatus()).toMatchObject({ waiting: 0, done: 1 });
  });

  it("shows data of agents whose answers have a shape, also after an approval", async () => {
    const outputs = new Map([["planner", z.object({ steps: z.array(z.string()) })]]);
    const provider = scripted([ask120, text('{"steps":', '["a"]}')]);
    const { said } = await talk({ provider, outputs }, ["plan", "/approve"], { agent: "planner" });
    expect(said).toContain('{\n  "steps": [\n    "a"\n  ]\n}\n');
    expect(said).not.toContain('{"steps"');
    expect(provider.requests.map((request) => request.responseFormat !== undefined)).toEqual([true, true]);
  });

  it("writes no control characters, whatever model and tool say", async () => {
    const hostile = defineTool({ id: "evil", description: "Bad", input: z.object({}), execute: async () => "\u001b[31mred\u0007" });
    const provider = scripted([toolCall("evil", { x: "\u009b" }), text("a\u001b", "]0;t", "itle\u0007b")]);
    const { said } = await talk({ provider, tools: [hostile] }, ["\u001b[2Jgo"]);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be written
    expect(said).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    expect(said).toContain("succeeded: red\nab\n");
  });

  it("writes none of a ticket either: not of its id, its input, or the line that edits it", async () => {
    const evil = defineTool({
      id: "evil",
      description: "Bad",
      input: z.object({ to: z.string() }),
      approve: ({ to }) => ask(`Pay ${to}?`),
      execute: async ({ to }) => to.length,
    });
    const provider = scripted([toolCall("evil", { to: "\u009b31m\u202eana" }, { id: "id\u001b]0;x\u0007" }), text("ok")]);
    const { said } = await talk({ provider, tools: [evil] }, ["go", "/edit", "/approve"]);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be written
    expect(said).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
    expect(said).toContain('"to": "\\u009b31m\\u202eana"');
    expect(said).toContain("succeeded: 8");
  });

  it("an error in mid-answer is one line, and the next line is read", async () => {
    const provider = scripted([
      parts({ type: "text-delta", delta: "Hal" }, { type: "throw", error: failure("invalid-request", "bad\nrequest").openError }),
      text("fine"),
    ]);
    const { said, code } = await talk({ provider }, ["one", "two"]);
    expect(said).toMatch(/\nHal\nerror: .*bad request \(inference_invalid_request\)\n/);
    expect(said).toContain("\nfine\n");
    expect(code).toBe(0);
  });

  it("exits with 1 when the last run failed", async () => {
    const { code } = await talk({ provider: scripted([text("fine"), failure("invalid-request", "bad request")]) }, ["one", "two"]);
    expect(code).toBe(1);
  });

  it("leaves at /quit, and refuses an agent that is not there", async () => {
    const { said } = await talk({ provider: scripted([]) }, ["/quit", "never read"]);
    expect(said).not.toContain("never read");
    await expect(talk({ provider: scripted([]) }, [], { agent: "nobody" })).rejects.toMatchObject({ code: "agent_not_found" });
  });
});
