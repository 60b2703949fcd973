import fc from "fast-check";
import { expect, test } from "vitest";
import { messageId, runId } from "../ids.ts";
import { type Message, messageToolCalls, type ToolMessage } from "../message.ts";
import { effectiveMessages, foldedUpTo, GrowingView, type SequencedMessage } from "./effective-view.ts";
import { assistant, log, result, retraction, rewind, summary, user } from "./test-records.ts";

// Conversations in which everything comes together that changes what is further back. What a model may see of them is told a second time,
// from what was meant when the log was made: each row is asked whether it is still there.

/** Of which call a result is: the row of its message, and the call's id. */
interface Meant {
  readonly seq: number;
  readonly call: string;
}

interface Made {
  readonly rows: readonly SequencedMessage[];
  readonly meant: ReadonlyMap<number, Meant>;
}

const any = fc.nat({ max: 999 });
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: fc.constant("turn" as const), calls: fc.integer({ min: 0, max: 3 }), text: any, fates: any }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant("late" as const), of: any, fate: any }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("retraction" as const), of: any }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("rewind" as const), to: any }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("summary" as const), from: any, to: any }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("chatter" as const), rows: fc.constantFrom(1, 2, 70) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Makes a log, and remembers what each row was made for. */
class Conversation {
  readonly #messages: Message[] = [];
  readonly #meant = new Map<number, Meant>();
  readonly #calls: Meant[] = [];
  /** Summaries end where a user speaks: none of them parts a call from the results right behind it. */
  readonly #ends: number[] = [];

  add(next: Step): void {
    switch (next.type) {
      case "turn":
        this.#turn(next);
        break;
      case "late":
        this.#late(next.of, (id, call) => shaped(result(id, call, statusOf(next.fate)), next.fate));
        break;
      case "retraction":
        this.#late(next.of, retraction);
        break;
      case "rewind":
        if (this.#messages.length > 0) this.#push(rewind(this.#id, 1 + (next.to % this.#messages.length)));
        break;
      case "summary":
        this.#summary(next.from, next.to);
        break;
      case "chatter":
        for (let row = 0; row < next.rows; row++) this.#push(user(this.#id));
    }
  }

  get made(): Made {
    return { rows: log(this.#messages), meant: this.#meant };
  }

  get #id(): string {
    return `m${this.#messages.length + 1}`;
  }

  #push(message: Message): number {
    return this.#messages.push(message);
  }

  /** Results that come at once name nothing but the id, which the model gives again in every turn. */
  #turn({ calls: count, text, fates }: Extract<Step, { type: "turn" }>): void {
    this.#ends.push(this.#messages.length);
    this.#push(user(this.#id));
    const run = { metadata: { runId: runId(`r${this.#messages.length % 2}`) } };
    const calls = Array.from({ length: count }, (_, index) => `c${index}`);
    const seq = this.#push({ ...assistant(this.#id, calls, text % 2 === 0 ? "hi" : ""), ...run });
    for (const [index, call] of calls.entries()) {
      this.#calls.push({ seq, call });
      const fate = fates + 7 * index;
      if (fate % 3 === 0) continue;
      const message = { ...result(this.#id, call, statusOf(fate)), ...run };
      this.#meant.set(this.#push(shaped(message, fate)), { seq, call });
    }
  }

  #late(of: number, make: (id: string, call: string) => ToolMessage): void {
    const meant = this.#calls[of % this.#calls.length];
    if (meant === undefined) return;
    const message = make(this.#id, meant.call);
    const named = { ...message, metadata: { ...message.metadata, callMessageId: messageId(`m${meant.seq}`) } };
    this.#meant.set(this.#push(named), meant);
  }

  #summary(from: number, to: number): void {
    const toSeq = this.#ends[to % this.#ends.length] ?? 0;
    if (toSeq === 0) return;
    const starts = [0, 0, ...this.#ends.filter((end) => end < toSeq)];
    this.#push(summary(this.#id, { fromSeq: 1 + (starts[from % starts.length] ?? 0), toSeq }));
  }
}

const statusOf = (fate: number): ToolMessage["status"] => (["success", "pending", "error"] as const)[fate % 3] ?? "success";

/** Every fourth result says that the input of its call was edited. */
const shaped = (message: ToolMessage, fate: number): ToolMessage =>
  fate % 4 === 0 ? { ...message, metadata: { ...message.metadata, edited: { input: `edit ${message.id}` } } } : message;

const conversation = fc.array(step, { minLength: 1, maxLength: 25, size: "max" }).map((steps) => {
  const made = new Conversation();
  for (const next of steps) made.add(next);
  return made.made;
});

const markOf = ({ message }: SequencedMessage) => message.metadata?.compaction;

/** Plays the log from its start: a rewind takes away what there is from its place on, and summaries that stand for something of it. */
function played(rows: readonly SequencedMessage[]): readonly SequencedMessage[] {
  let there: readonly SequencedMessage[] = [];
  for (const row of rows) {
    const back = row.message.metadata?.rewind;
    there = back === undefined ? [...there, row] : there.filter((one) => (markOf(one)?.toSeq ?? one.seq) < back.fromSeq);
  }
  return there;
}

interface Seen {
  readonly id: string;
  /** Its calls with their inputs; empty for whoever calls nothing. */
  readonly calls: readonly string[];
}

const shown = ({ message }: SequencedMessage): Seen => ({
  id: message.id,
  calls: messageToolCalls(message).map(({ id, input }) => `${id} ${JSON.stringify(input)}`),
});

/** What there is to see, row by row, from what was meant. */
function meantView({ rows, meant }: Made): readonly Seen[] {
  const there = played(rows);
  const marks = there.flatMap((row) => ({ row, mark: markOf(row) })).flatMap(({ row, mark }) => (mark === undefined ? [] : { row, mark }));
  const isCovered = ({ seq }: SequencedMessage) => marks.some(({ mark }) => mark.fromSeq <= seq && seq <= mark.toSeq);
  const widest = marks.filter(
    (one) =>
      !marks.some((other) => {
        const isSame = other.mark.fromSeq === one.mark.fromSeq && other.mark.toSeq === one.mark.toSeq;
        const isWider = other.mark.fromSeq <= one.mark.fromSeq && one.mark.toSeq <= other.mark.toSeq;
        return isSame ? other.row.seq > one.row.seq : isWider;
      }),
  );
  const open = there.filter((row) => markOf(row) === undefined && !isCovered(row));
  const places = [
    ...widest.map(({ row, mark }) => ({ place: mark.fromSeq - 0.5, row })),
    ...open.filter(({ message }) => message.role !== "tool").map((row) => ({ place: row.seq, row })),
  ].sort((a, b) => a.place - b.place);
  return places.flatMap(({ row }) => seenTurn(row, (call) => resultsOf(open, meant, { seq: row.seq, call })));
}

/** Visible results of a call, as far as they count: none when it was retracted, and no placeholder behind a real one. */
function resultsOf(open: readonly SequencedMessage[], meant: Made["meant"], { seq, call }: Meant): readonly ToolMessage[] {
  const own = open.flatMap(({ seq: at, message }) => {
    const one = meant.get(at);
    return message.role === "tool" && one?.seq === seq && one.call === call ? message : [];
  });
  if (own.some(({ visibility }) => visibility === "internal")) return [];
  const firstReal = own.findIndex(({ status }) => status !== "pending");
  return own.filter(({ status }, index) => firstReal === -1 || index <= firstReal || status !== "pending");
}

function seenTurn({ message }: SequencedMessage, resultsOfCall: (call: string) => readonly ToolMessage[]): readonly Seen[] {
  const calls = messageToolCalls(message).flatMap(({ id, input }) => {
    const results = resultsOfCall(id);
    const last = results.at(-1);
    const edit = results.findLast(({ metadata }) => metadata?.edited !== undefined)?.metadata?.edited;
    return last === undefined ? [] : { said: `${id} ${JSON.stringify(edit?.input ?? input)}`, last };
  });
  const isSilent = !message.content.some((part) => part.type === "text");
  if (isSilent && calls.length === 0 && messageToolCalls(message).length > 0) return [];
  return [{ id: message.id, calls: calls.map(({ said }) => said) }, ...calls.map(({ last }): Seen => ({ id: last.id, calls: [] }))];
}

test("a log with rewinds, edits, late results, retractions and summaries shows what was meant", () => {
  fc.assert(
    fc.property(conversation, (made) => {
      expect(effectiveMessages(made.rows).map(shown)).toEqual(meantView(made));
    }),
    { numRuns: 2_000 },
  );
});

test("a view that grows commit by commit is that of the whole log at every one of them, and most of them extend it", () => {
  let [extended, anew, behind] = [0, 0, 0];
  fc.assert(
    fc.property(conversation, fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 20 }), ({ rows, meant }, sizes) => {
      let view = new GrowingView([]);
      for (let count = 0, turn = 0; count < rows.length; turn++) {
        const added = rows.slice(count, count + (sizes[turn % sizes.length] ?? 1));
        count += added.length;
        const known = rows.slice(0, count);
        if (view.append(added)) {
          extended += 1;
          if (known.some(({ message }) => message.metadata?.rewind !== undefined)) behind += 1;
        } else {
          anew += 1;
          view = new GrowingView(known.slice(foldedUpTo(known.map(({ message }) => message))));
        }
        expect(view.messages).toEqual(effectiveMessages(known));
        expect(view.messages.map(shown)).toEqual(meantView({ rows: known, meant }));
      }
    }),
    { numRuns: 500 },
  );
  expect(extended).toBeGreaterThan(anew);
  expect(behind).toBeGreaterThan(0);
});

test("the view with a rewind is that of a log in which nothing of what it took back was ever written", () => {
  fc.assert(
    fc.property(conversation, ({ rows }) => {
      expect(effectiveMessages(rows)).toEqual(effectiveMessages(played(rows)));
    }),
    { numRuns: 1_000 },
  );
});
