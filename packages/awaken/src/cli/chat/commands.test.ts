import { runId, threadId, ticketId, toolCallId } from "@awaken/contract";
import { describe, expect, it } from "vitest";
import { editLine, parseDecision } from "./approvals.ts";
import type { NumberedTicket } from "./block.ts";
import { COMMANDS, helpText, parseLine } from "./commands.ts";

const open = (number: number, id: string): NumberedTicket => ({
  number,
  ticket: {
    id: ticketId(id),
    runId: runId("r"),
    threadId: threadId("t"),
    toolCallId: toolCallId(id),
    toolName: "refund",
    input: { amount: 120 },
    action: "approve",
    resumeMode: "replay-tool-call",
    updatedAt: 0,
  },
});
const tickets = [open(1, "call-a"), open(3, "call-b")];
const ids = (decided: { readonly tickets: readonly NumberedTicket[] }) => decided.tickets.map(({ ticket }) => ticket.id);

describe("a line of input", () => {
  it.each([
    ["", { type: "nothing" }],
    ["  hello there ", { type: "message", text: "hello there" }],
    ["//etc is a folder", { type: "message", text: "/etc is a folder" }],
    ["/deny  too much\nreally", { type: "command", name: "deny", rest: "too much\nreally" }],
    ["/exit", { type: "command", name: "quit", rest: "" }],
    ["/nope x", { type: "unknown", name: "nope" }],
    ["/", { type: "unknown", name: "" }],
  ])("%j", (line, expected) => {
    expect(parseLine(line)).toEqual(expected);
  });

  it("help names every command", () => {
    for (const { name } of COMMANDS) expect(helpText()).toContain(`/${name}`);
  });
});

describe("a decision", () => {
  it("is about the open ticket; when there are several, about those that are named", () => {
    expect(ids(parseDecision("approve", tickets.slice(0, 1), ""))).toEqual(["call-a"]);
    expect(ids(parseDecision("approve", tickets, "all"))).toEqual(["call-a", "call-b"]);
    for (const rest of ["", "all of it is bad", "too much"]) {
      expect(() => parseDecision("deny", tickets, rest)).toThrow("2 calls wait: say which of #1, #3, or all");
    }
    expect(ids(parseDecision("approve", tickets, "#3"))).toEqual(["call-b"]);
    expect(ids(parseDecision("deny", tickets, "call-b too much"))).toEqual(["call-b"]);
    expect(ids(parseDecision("deny", tickets, "all: too much"))).toEqual(["call-a", "call-b"]);
    expect(parseDecision("deny", tickets.slice(0, 1), "all of it is bad")).toMatchObject({ how: "denied: all of it is bad" });
  });

  it("takes a part of a ticket's id that is no word", () => {
    const long = [open(1, "01a1e04e-87db-778e"), open(2, "01a1e04e-99aa-88b2")];
    expect(ids(parseDecision("deny", long, "87db-778e too much"))).toEqual(["01a1e04e-87db-778e"]);
    expect(ids(parseDecision("deny", long.slice(0, 1), "01a1 is bad"))).toEqual(["01a1e04e-87db-778e"]);
    expect(() => parseDecision("approve", long, "01a1e04e")).toThrow("say which");
  });

  it("carries what was said", () => {
    expect(parseDecision("approve", tickets, '#3 {"amount": 90}').decision).toEqual({ action: "approve", input: { amount: 90 } });
    expect(parseDecision("deny", tickets, "#1 too much").decision).toEqual({ action: "deny", reason: "too much" });
    expect(parseDecision("deny", tickets, "#1").decision).toEqual({ action: "deny" });
    expect(parseDecision("answer", tickets, "#1 [1]").decision).toEqual({ action: "answer", result: [1] });
  });

  it("an edit goes out as it came in", () => {
    const line = parseLine(editLine(open(3, "call-b")));
    if (line.type !== "command") throw new Error("not a command");
    expect(parseDecision("approve", tickets, line.rest)).toMatchObject({ tickets: [{ number: 3 }], decision: { input: { amount: 120 } } });
  });

  it.each([
    ["approve", "#1 {broken", /must be JSON/],
    ["approve", "#2", /no open ticket #2; open: #1, #3/],
    ["approve", 'all {"amount":1}', /one ticket/],
    ["answer", "#3", /needs a result/],
  ] as const)("/%s %s is refused", (name, rest, why) => {
    expect(() => parseDecision(name, tickets, rest)).toThrow(
      expect.objectContaining({ code: "invalid_resume", message: expect.stringMatching(why) }),
    );
  });

  it("needs a call that waits", () => {
    expect(() => parseDecision("approve", [], "")).toThrow(/no call waits/);
  });
});
