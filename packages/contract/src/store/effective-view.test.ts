import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { messageId, runId, toolCallId } from "../ids.ts";
import { type AssistantMessage, type Message, messageToolCalls, type ToolMessage } from "../message.ts";
import { effectiveMessages, foldedUpTo, GrowingView, type SequencedMessage } from "./effective-view.ts";
import { isPlainLog } from "./plain-log.ts";
import { assistant, log, result, retraction, rewind, summary, user } from "./test-records.ts";

const idsOf = (entries: readonly SequencedMessage[]): readonly string[] => entries.map((entry) => entry.message.id);
const view = (messages: readonly Message[]): readonly string[] => idsOf(effectiveMessages(log(messages)));

describe("summaries", () => {
  test("core-execution 64: of summaries [1,3] and [1,6] only the wider one and later messages appear, and the raw count stays", () => {
    const rows = log([
      ...[user("m1"), assistant("m2"), user("m3")],
      summary("s4", { fromSeq: 1, toSeq: 3 }),
      ...[assistant("m5"), user("m6")],
      summary("s7", { fromSeq: 1, toSeq: 6 }),
      user("m8"),
    ]);
    expect(idsOf(effectiveMessages(rows))).toEqual(["s7", "m8"]);
    expect(rows).toHaveLength(8);
  });

  test("server-and-durability 16: of two overlapping compaction summaries the wider one wins and the narrower is not visible", () => {
    const rows = [user("m1"), user("m2"), user("m3"), user("m4")];
    const wide = summary("wide", { fromSeq: 1, toSeq: 4 });
    const narrow = summary("narrow", { fromSeq: 2, toSeq: 3 });
    expect(view([...rows, wide, narrow, user("m7")])).toEqual(["wide", "m7"]);
    expect(view([...rows, narrow, wide, user("m7")])).toEqual(["wide", "m7"]);
  });

  test("of two equal summaries the later one is kept", () => {
    const mark = { fromSeq: 1, toSeq: 1 };
    expect(view([user("m1"), summary("old", mark), summary("new", mark)])).toEqual(["new"]);
  });

  test("a summary stands at the start of its interval, whatever was written before it", () => {
    expect(view([user("m1"), user("m2"), user("m3"), user("m4"), summary("s", { fromSeq: 2, toSeq: 3 })])).toEqual(["m1", "s", "m4"]);
  });

  test("two summaries that overlap without containing each other are both kept", () => {
    const rows = [user("m1"), user("m2"), user("m3"), user("m4")];
    expect(view([...rows, summary("a", { fromSeq: 1, toSeq: 3 }), summary("b", { fromSeq: 2, toSeq: 4 })])).toEqual(["a", "b"]);
  });

  test("a rewind takes back what came since, and summaries that reach into it; what was taken back stays so", () => {
    const chat = [user("m1"), user("m2"), user("m3"), user("m4")];
    expect(view([...chat, rewind("w", 3), user("m6")])).toEqual(["m1", "m2", "m6"]);
    expect(view([...chat, summary("s", { fromSeq: 1, toSeq: 3 }), rewind("w", 3), user("m7")])).toEqual(["m1", "m2", "m7"]);
    expect(view([...chat, summary("s", { fromSeq: 1, toSeq: 2 }), rewind("w", 3), user("m7")])).toEqual(["s", "m7"]);
    expect(view([...chat, rewind("w1", 2), user("m6"), rewind("w2", 6), user("m8")])).toEqual(["m1", "m8"]);
  });

  test("a result is never a summary, even when it says so", () => {
    const forged = { ...result("m3", "c"), metadata: { compaction: { fromSeq: 1, toSeq: 2 } } };
    expect(view([user("m1"), assistant("m2", ["c"]), forged])).toEqual(["m1", "m2", "m3"]);
  });

  test("a late result that moved to its call does not pull a summary with it", () => {
    const rows = [assistant("m1", ["c"]), user("m2"), user("m3"), user("m4"), result("m5", "c"), summary("s", { fromSeq: 3, toSeq: 3 })];
    const entries = effectiveMessages(log(rows));
    expect(idsOf(entries)).toEqual(["m1", "m5", "m2", "s", "m4"]);
    expect(effectiveMessages(entries)).toEqual(entries);
  });

  test("a result whose call was folded away is an orphan and goes too", () => {
    expect(view([assistant("m1", ["c"]), summary("s", { fromSeq: 1, toSeq: 1 }), result("m3", "c"), user("m4")])).toEqual(["s", "m4"]);
  });
});

describe("a view that grows", () => {
  const first = [user("m1"), assistant("m2", ["a"]), result("m3", "a")];
  const rows = (messages: readonly Message[]) => log([...first, ...messages]).slice(first.length);

  test.each<[string, boolean, readonly Message[]]>([
    ["a turn with its results", true, [user("m4"), assistant("m5", ["a"]), result("m6", "a")]],
    ["a call that nobody has answered yet", true, [assistant("m4", ["b"])]],
    ["another result of a call further back", false, [user("m4"), result("m5", "a")]],
    ["a retraction of a call further back", false, [retraction("m4", "a")]],
    ["a summary", false, [summary("m4", { fromSeq: 1, toSeq: 3 })]],
  ])("by %s is extended: %s", (_, isExtended, added) => {
    expect(new GrowingView(log(first)).append(rows(added))).toBe(isExtended);
  });

  test("waits for the results of its last calls, and gives them up after many rows", () => {
    const asked = new GrowingView(log([...first, assistant("m4", ["b", "c"]), result("m5", "b")]));
    const [placeholder, answer] = log([...first, user("x"), user("y"), result("m6", "c", "pending"), result("m7", "c")]).slice(5);
    expect(placeholder && answer && asked.append([placeholder]) && asked.append([answer])).toBe(true);
    expect(idsOf(asked.messages)).toEqual(["m1", "m2", "m3", "m4", "m5", "m7"]);

    const chat = Array.from({ length: 100 }, (__, index) => user(`u${index}`));
    const lost = new GrowingView(log([assistant("m1", ["a"]), ...chat]));
    expect(lost.append(log([assistant("m1", ["a"]), ...chat, result("late", "a")]).slice(-1))).toBe(false);
  });

  test("gives each reader an array of its own", () => {
    const view = new GrowingView(log(first));
    const before = view.messages;
    view.append(rows([user("m4")]));
    expect(idsOf(before)).toEqual(["m1", "m2", "m3"]);
  });
});

describe("calls", () => {
  test("server-and-durability 17: a retracted call and its pending result vanish and the raw count is unchanged", () => {
    const rows = log([user("m1"), assistant("m2", ["c"]), result("m3", "c", "pending"), retraction("m4", "c"), user("m5")]);
    const entries = effectiveMessages(rows);
    expect(idsOf(entries)).toEqual(["m1", "m2", "m5"]);
    expect(entries.flatMap((entry) => messageToolCalls(entry.message))).toEqual([]);
    expect(rows).toHaveLength(5);
  });

  test("a retracted call stays retracted, whatever comes for it later", () => {
    expect(view([assistant("m1", ["c"]), retraction("m2", "c"), result("m3", "c"), result("m4", "c", "pending")])).toEqual(["m1"]);
  });

  test("core-execution 58: a resumed call has one result, adjacent to its assistant message", () => {
    const rows = [assistant("m1", ["a", "b"]), result("m2", "a", "pending"), result("m3", "b"), user("m4"), result("m5", "a")];
    expect(view(rows)).toEqual(["m1", "m5", "m3", "m4"]);
  });

  test("a call that suspended twice shows its last placeholder until it has a result", () => {
    const waiting = [assistant("m1", ["a"]), result("m2", "a", "pending"), result("m3", "a", "pending")];
    expect(view(waiting)).toEqual(["m1", "m3"]);
    expect(view([...waiting, result("m4", "a", "error"), result("m5", "a", "pending")])).toEqual(["m1", "m4"]);
  });

  test("an unanswered call is dropped and its siblings stay", () => {
    const [first, second] = effectiveMessages(log([assistant("m1", ["a", "b"]), result("m2", "b")]));
    expect(first?.message.content.map((part) => part.type)).toEqual(["text", "tool-call"]);
    expect(second?.message.id).toBe("m2");
  });

  test("a message that was nothing but lost calls and reasoning goes with them", () => {
    const thinking: AssistantMessage = {
      ...assistant("m1", ["a"], ""),
      content: [{ type: "reasoning", text: "hm", signature: "s" }, ...assistant("m1", ["a"], "").content],
    };
    expect(view([thinking, user("m2")])).toEqual(["m2"]);
    expect(view([thinking, result("m2", "a")])).toEqual(["m1", "m2"]);
  });

  test("an empty message that lost nothing is left for the prompt to judge", () => {
    expect(view([assistant("m1", [], "")])).toEqual(["m1"]);
  });

  test("a call that the vendor ran is left as it is, and no tool message can answer it", () => {
    const searched: AssistantMessage = {
      id: messageId("m1"),
      role: "assistant",
      content: [{ type: "tool-call", id: toolCallId("v"), name: "search", input: {}, executed: "provider" }],
    };
    expect(effectiveMessages(log([searched, result("m2", "v")]))).toEqual(log([searched]));
  });

  test("a call that the vendor ran stays when a sibling of ours is dropped", () => {
    const mixed: AssistantMessage = {
      ...assistant("m1"),
      content: [
        { type: "tool-call", id: toolCallId("v"), name: "search", input: {}, executed: "provider" },
        { type: "tool-call", id: toolCallId("c"), name: "tool", input: {} },
        { type: "tool-result", id: toolCallId("v"), name: "search", output: [] },
      ],
    };
    const [entry] = effectiveMessages(log([mixed]));
    expect(entry?.message.content.map((part) => ("id" in part ? `${part.type} ${part.id}` : part.type))).toEqual([
      "tool-call v",
      "tool-result v",
    ]);
  });

  test("call ids that a vendor repeats belong to the nearest call before the result", () => {
    const rows = [assistant("m1", ["c"]), result("m2", "c"), assistant("m3", ["c"]), result("m4", "c"), assistant("m5", ["c"])];
    expect(effectiveMessages(log(rows)).map(({ message }) => [message.id, messageToolCalls(message).length])).toEqual([
      ["m1", 1],
      ["m2", 0],
      ["m3", 1],
      ["m4", 0],
      ["m5", 0],
    ]);
  });

  test("a result that names its run belongs to the call of that run, also when another run has used the id since", () => {
    const of = <M extends Message>(message: M, run: string): M => ({ ...message, metadata: { runId: runId(run) } });
    const rows = [
      of(assistant("m1", ["c"]), "r1"),
      of(assistant("m2", ["c"]), "r2"),
      of(result("m3", "c"), "r2"),
      of(result("m4", "c"), "r1"),
    ];
    expect(view(rows)).toEqual(["m1", "m4", "m2", "m3"]);
    expect(view([...rows.slice(0, 3), of(result("m4", "c"), "r9")])).toEqual(["m1", "m2", "m4"]);
    const growing = new GrowingView(log(rows.slice(0, 3)));
    expect(growing.append(log(rows).slice(3))).toBe(false);
  });

  test("a result before its call, or of no call at all, is an orphan", () => {
    expect(view([result("m1", "c"), assistant("m2", ["c"], "hi"), result("m3", "zzz")])).toEqual(["m2"]);
  });
});

describe("a result that says more than its call's id", () => {
  const edited = (message: ToolMessage, input: number, by?: string): ToolMessage => ({
    ...message,
    metadata: { edited: by === undefined ? { input } : { input, by } },
  });
  const inputs = (rows: readonly Message[]) =>
    effectiveMessages(log(rows)).flatMap(({ message }) => messageToolCalls(message).map(({ id, input }) => [id, input]));

  test("is shown with the input that the call ran with, and the log stays as it is", () => {
    const rows = [assistant("m1", ["a", "b"]), result("m2", "a"), edited(result("m3", "b"), 5, "ana")];
    expect(inputs(rows).at(-1)).toEqual(["b", 5]);
    expect(inputs(rows.slice(0, 2))).toEqual(inputs([assistant("m1", ["a"]), result("m2", "a")]));
    expect(messageToolCalls(assistant("m1", ["a", "b"]))).toEqual(rows[0] === undefined ? [] : messageToolCalls(rows[0]));
  });

  test("an edit of a call that waited again stays, until there is another one", () => {
    const waited = edited(result("m2", "a", "pending"), 5);
    expect(inputs([assistant("m1", ["a"]), waited, result("m3", "a")])).toEqual([["a", 5]]);
    expect(inputs([assistant("m1", ["a"]), waited, edited(result("m3", "a"), 6)])).toEqual([["a", 6]]);
  });

  test("belongs to the call of the message that it names, also when the id was given again by the same run", () => {
    const names = (message: ToolMessage, id: string): ToolMessage => ({ ...message, metadata: { callMessageId: messageId(id) } });
    const rows = [assistant("m1", ["a"]), result("m2", "a"), assistant("m3", ["a"]), result("m4", "a")];
    expect(view([...rows, result("m5", "a")])).toEqual(["m1", "m2", "m3", "m5"]);
    expect(view([...rows, names(result("m5", "a"), "m1")])).toEqual(["m1", "m5", "m3", "m4"]);
    expect(view([...rows, names(result("m5", "a"), "gone")])).toEqual(["m1", "m2", "m3", "m4"]);
  });
});

describe("every log", () => {
  const call = fc.constantFrom("c0", "c1", "c2");
  const run = fc.constantFrom("", "r0", "r1");
  const of = <M extends Message>(message: M, name: string): M => (name === "" ? message : { ...message, metadata: { runId: runId(name) } });
  /** Some results name the message of their call, and some of them say that its input was edited. */
  const late = (message: ToolMessage, asked: number, edited: number): ToolMessage => {
    const names = asked % 3 === 0 ? { callMessageId: messageId(`m${1 + (asked % 10)}`) } : {};
    return { ...message, metadata: { ...message.metadata, ...names, ...(edited % 3 === 0 ? { edited: { input: edited } } : {}) } };
  };
  const row = fc.oneof(
    { weight: 2, arbitrary: fc.constant({ type: "user" } as const) },
    {
      weight: 3,
      arbitrary: fc.record({
        type: fc.constant("assistant" as const),
        calls: fc.array(call, { maxLength: 3 }),
        text: fc.constantFrom("", "hi"),
        run,
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        ...{ type: fc.constant("tool" as const), call, run, asked: fc.nat(), edited: fc.nat() },
        status: fc.constantFrom("success", "error", "pending"),
      }),
    },
    { weight: 1, arbitrary: fc.record({ type: fc.constant("retraction" as const), call }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant("rewind" as const), back: fc.nat({ max: 8 }) }) },
    {
      weight: 1,
      arbitrary: fc.record({ type: fc.constant("summary" as const), from: fc.nat(), to: fc.nat(), isCumulative: fc.boolean() }),
    },
  );
  const anyLog = fc.array(row, { maxLength: 30, size: "max" }).map((rows) =>
    log(
      rows.map((shape, index) => {
        const id = `m${index + 1}`;
        if (shape.type === "user" || (index === 0 && (shape.type === "summary" || shape.type === "rewind"))) return user(id);
        if (shape.type === "rewind") return rewind(id, Math.max(1, index - shape.back));
        if (shape.type === "assistant") return of(assistant(id, shape.calls, shape.text), shape.run);
        if (shape.type === "tool") return late(of(result(id, shape.call, shape.status), shape.run), shape.asked, shape.edited);
        if (shape.type === "retraction") return retraction(id, shape.call);
        const toSeq = 1 + (shape.to % index);
        return summary(id, { fromSeq: shape.isCumulative ? 1 : 1 + (shape.from % toSeq), toSeq });
      }),
    ),
  );

  test("has a view in which each call is followed by its one result and no other result exists", () => {
    fc.assert(
      fc.property(anyLog, (rows) => {
        const messages = effectiveMessages(rows).map((entry) => entry.message);
        const expected = messages
          .filter((message) => message.role !== "tool")
          .flatMap((message) => [message.id, ...messageToolCalls(message).map((part) => `result of ${part.id}`)]);
        const actual = messages.map((message) => (message.role === "tool" ? `result of ${message.toolCallId}` : message.id));
        expect(actual).toEqual(expected);
        expect(messages.some((message) => message.role === "tool" && message.visibility === "internal")).toBe(false);
      }),
      { numRuns: 2_000 },
    );
  });

  test("has a view that is its own view", () => {
    fc.assert(
      fc.property(anyLog, (rows) => {
        const entries = effectiveMessages(rows);
        expect(effectiveMessages(entries)).toEqual(entries);
      }),
      { numRuns: 2_000 },
    );
  });

  test("is its own view where it is plain, and where one plain piece comes behind the other", () => {
    let plain = 0;
    fc.assert(
      fc.property(anyLog, fc.nat(30), (rows, count) => {
        const known = isPlainLog(rows.slice(0, count)) ? count : 0;
        if (!isPlainLog(rows, known)) return;
        plain += rows.some(({ message }) => message.role === "tool") ? 1 : 0;
        expect(effectiveMessages(rows)).toEqual(rows);
      }),
      { numRuns: 5_000, examples: [[log([user("m1"), assistant("m2", ["a", "b"]), result("m3", "a"), result("m4", "b"), user("m5")]), 4]] },
    );
    expect(plain).toBeGreaterThan(0);
    const open = [user("m1"), assistant("m2", ["a", "b"]), result("m3", "b")];
    const twice = [assistant("m1", ["a", "a"]), result("m2", "a"), result("m3", "a")];
    for (const rows of [open, [...open, result("m4", "a")], [user("m1"), result("m2", "a")], twice])
      expect(isPlainLog(log(rows))).toBe(false);
  });

  test("needs only the rows after foldedUpTo", () => {
    fc.assert(
      fc.property(anyLog, (rows) => {
        const from = foldedUpTo(rows.map(({ message }) => message));
        expect(effectiveMessages(rows.filter((entry) => entry.seq > from))).toEqual(effectiveMessages(rows));
      }),
      { numRuns: 2_000 },
    );
  });

  test("has the same view when it grows piece by piece", () => {
    fc.assert(
      fc.property(anyLog, fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 30, maxLength: 30 }), (rows, sizes) => {
        let view = new GrowingView([]);
        let count = 0;
        for (const size of sizes) {
          const before = view.messages;
          const added = rows.slice(count, count + size);
          count += added.length;
          const known = rows.slice(0, count);
          if (!view.append(added)) {
            expect(view.messages).toEqual(before);
            view = new GrowingView(known.slice(foldedUpTo(known.map(({ message }) => message))));
          }
          expect(view.messages).toEqual(effectiveMessages(known));
        }
      }),
      { numRuns: 1_000 },
    );
  });

  test("keeps each user message that no summary covers and no rewind took back, once and in order", () => {
    fc.assert(
      fc.property(anyLog, (rows) => {
        const isBack = (place: number, seq: number) =>
          rows.some((other) => place >= (other.message.metadata?.rewind?.fromSeq ?? Number.POSITIVE_INFINITY) && seq < other.seq);
        const marks = rows
          .flatMap(({ seq, message }) => ({ seq, mark: message.metadata?.compaction }))
          .flatMap(({ seq, mark }) => (mark === undefined || isBack(mark.toSeq, seq) ? [] : mark));
        const isKept = ({ seq }: SequencedMessage) => !isBack(seq, seq) && !marks.some((mark) => mark.fromSeq <= seq && seq <= mark.toSeq);
        const kept = rows.filter((row) => row.message.role === "user" && isKept(row));
        expect(idsOf(effectiveMessages(rows).filter((entry) => entry.message.role === "user"))).toEqual(idsOf(kept));
      }),
    );
  });

  test("is read without being changed", () => {
    fc.assert(
      fc.property(anyLog, (rows) => {
        const before = structuredClone(rows);
        effectiveMessages(rows);
        expect(rows).toEqual(before);
      }),
    );
  });
});
