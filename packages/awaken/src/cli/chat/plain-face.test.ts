import { PassThrough } from "node:stream";
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
  readonly said: string;
}

/** Gives these lines and the end of input, and gets everything that was written. */
async function talk(
  given: ProjectParts,
  lines: readonly string[],
  options: { readonly agent?: string; readonly thread?: string } = {},
): Promise<Talk> {
  const project = openProject({ tools: [refund], ...given });
  const stdin = new PassThrough();
  const stdout = new PassThrough();
  const chunks: Buffer[] = [];
  stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  stdin.end(lines.map((line) => `${line}\n`).join(""));
  const interrupts = { signal: new AbortController().signal, exitCode: 130 };
  const code = await plainFace(openDriver(project, options.agent), options.thread, { stdin, stdout, interrupts });
  await project.runtime[Symbol.asyncDispose]();
  return { code, said: Buffer.concat(chunks).toString("utf8") };
}

const ask120 = toolCall("refund", { orderId: "7", amount: 120 }, { id: "call-1" });

describe("the chat line by line", () => {
  it("answers one line after another and ends with the input", async () => {
    const { code, said } = await talk({ provider: scripted([text("One", " and", " more."), text("Two.")]) }, ["first", "", "second"]);
    expect(code).toBe(0);
    expect(said).toBe("- thread thread-1, agent support\n> first\nOne and more.\n> second\nTwo.\n");
  });

  it("tells calls when they begin, report and end", async () => {
    const provider = scripted([toolCalls([{ name: "refund", input: { orderId: "7", amount: 9 } }], { say: "Paying." }), text("Paid.")]);
    const { said } = await talk({ provider }, ["go"]);
    expect(said.split("\n").slice(2)).toEqual([
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
    expect(said).toContain('? #1 Refund 120 for 7?\n  refund {"orderId":"7","amount":120}\n  ticket call-1\n');
    expect(await store.runs.countByStatus()).toMatchObject({ waiting: 1, done: 0 });
  });

  it.each([
    ["/approve", "succeeded: refunded 120 for 7"],
    ['/approve {"orderId":"7","amount":90}', "succeeded: refunded 90 for 7"],
    ["/deny too much", "denied: too much"],
    ['/answer {"by":"hand"}', 'succeeded: {"by":"hand"}'],
  ])("decides by the next line: %s", async (line, expected) => {
    const { said } = await talk({ provider: scripted([ask120, text("Done.")]) }, ["Refund 7", line]);
    expect(said).toContain(expected);
    expect(said.trimEnd().split("\n").at(-1)).toBe("Done.");
  });

  it("a decision that does not fit changes nothing, and can be made again", async () => {
    const lines = ["Refund 7", '/approve {"orderId":"7","amount":9999}', "/approve {nonsense", "/approve"];
    const { said } = await talk({ provider: scripted([ask120, text("Done.")]) }, lines);
    expect(said).toContain("error: decision about 'refund' (call-1): the edited input does not fit");
    expect(said).toContain("error: the edited input must be JSON");
    expect(said).toContain("succeeded: refunded 120 for 7");
  });

  it("goes on with what waits in another process, by thread", async () => {
    const store = memoryStore();
    await talk({ provider: scripted([ask120]), store }, ["Refund 7"], { thread: "orders" });
    const { said } = await talk({ provider: scripted([text("Done.")]), store }, ["/approve"]);
    expect(said).toContain("- thread orders, agent support\n> Refund 7\n");
    expect(said).toContain("? #1 approved\n");
    expect(said).toContain("Done.");
  });

  it("a message instead of a decision gives the waiting call up, and says so", async () => {
    const { said } = await talk({ provider: scripted([ask120, text("All right.")]) }, ["Refund 7", "never mind"]);
    expect(said).toContain("! the call that waited will not run: a new message came");
    expect(said).toContain("? #1 withdrawn");
    expect(said).toContain("All right.");
  });

  it.each([
    ["Yes", "succeeded: refunded 120 for 7"],
    ["ok", "succeeded: refunded 120 for 7"],
    ["n", "denied"],
  ])("a lone %s decides about the one call that waits", async (line, expected) => {
    const { said } = await talk({ provider: scripted([ask120, text("Done.")]) }, ["Refund 7", line]);
    expect(said).toContain("any other message withdraws the call");
    expect(said).toContain(expected);
    expect(said).not.toContain("will not run");
  });

  it("a lone yes is a message when two calls wait, or none", async () => {
    const two = toolCalls([
      { name: "refund", input: { orderId: "7", amount: 120 }, id: "call-1" },
      { name: "refund", input: { orderId: "8", amount: 130 }, id: "call-2" },
    ]);
    const { said } = await talk({ provider: scripted([two, text("All right."), text("Fine.")]) }, ["Refund both", "yes", "yes"]);
    expect(said).toContain("! the 2 calls that waited will not run");
    expect(said).toContain("> yes\nFine.\n");
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
    expect(said).toContain("> two\nfine\n");
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
