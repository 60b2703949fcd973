import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { AttachedEvent } from "./index.ts";
import {
  answering,
  bytes,
  noThread,
  played,
  refusing,
  streaming,
  type Turn,
  unreachable,
  useFakeTime,
} from "./scripted-server.test-support.ts";

// What comes over the wire, however it is cut, and from whoever stands between.

beforeEach(useFakeTime);
afterEach(() => {
  const left = vi.getTimerCount();
  vi.useRealTimers();
  expect(left, "timers that are left").toBe(0);
});

const START = { type: "step-start", step: 1 };
const WORDS = { type: "text-delta", delta: "äöü 😀 \u2028" };
const KEPT = { type: "inference-end" };
const END = { type: "run-end", runId: "r", result: { status: "done" } };
const frame = (event: object, id?: string) => `${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(event)}\n\n`;
const HEAD = `: welcome\n\n${frame(START)}${frame(WORDS)}`;
const TAIL = `${frame(KEPT, "c1")}: heartbeat\n\nretry: 5\n\n${frame(END, "c2")}`;
const TOLD = [START, WORDS, { ...KEPT, cursor: "c1" }, { ...END, cursor: "c2" }];

const collect = (events: AsyncIterable<AttachedEvent>) => Array.fromAsync(events);
const inPieces = (whole: Uint8Array, size: number): readonly Uint8Array[] =>
  Array.from({ length: Math.ceil(whole.length / size) }, (_, nth) => whole.subarray(nth * size, (nth + 1) * size));

describe("frames", () => {
  test.each([
    ["LF", (text: string) => text],
    ["CRLF", (text: string) => text.replaceAll("\n", "\r\n")],
    ["CR", (text: string) => text.replaceAll("\n", "\r")],
    ["a byte order mark", (text: string) => `\ufeff${text}`],
  ])("with %s are the same, wherever they are split, in the middle of a letter too", async (_, spell) => {
    const whole = bytes(spell(HEAD + TAIL));
    for (const size of [1, 2, 3, 7, whole.length]) {
      const { client, asked } = answering([noThread, streaming(inPieces(whole, size))]);
      expect(await collect(client.attach("r")), `in pieces of ${size}`).toEqual(TOLD);
      expect(asked).toHaveLength(2);
    }
  });

  test("that are cut off anywhere are told once; what was shown and not kept is taken back before it comes again", async () => {
    const [head, tail] = [bytes(HEAD), bytes(TAIL)];
    const cut = bytes(frame(KEPT, "c1")).length;
    for (let at = 0; at < head.length + tail.length; at += 3) {
      const first = at < head.length ? [head.subarray(0, at)] : [head, tail.subarray(0, at - head.length)];
      const behind = at < head.length + cut ? [head, tail] : [tail.subarray(cut)];
      const { client, asked } = answering([noThread, streaming(first, at % 2 === 0 ? "end" : "break"), streaming(behind)]);
      const { value: seen } = await played(collect(client.attach("r")));
      const kept = seen.filter(({ cursor }) => cursor !== undefined);
      expect(kept, `cut at ${at}`).toEqual(TOLD.slice(2));
      const last = seen.slice(seen.findLastIndex(({ type }) => type === "stream-reset") + 1);
      expect(last.filter(({ type }) => type === "text-delta")).toEqual([WORDS]);
      expect(asked[2]).toBe(`GET /v1/runs/r/events/stream${at < head.length + cut ? "" : " behind c1"}`);
    }
  });

  test("an endless comment, and any number of them, cost nothing; an event that has no end is refused", async () => {
    const mebi = new Uint8Array(1024 * 1024).fill(0x78);
    const flood = bytes(": still here\n".repeat(50_000));
    const comments = [bytes(":"), ...Array(20).fill(mebi), bytes("\n"), ...Array(10).fill(flood)];
    const { client } = answering([noThread, streaming([...comments, bytes(HEAD + TAIL)])]);
    expect(await collect(client.attach("r"))).toEqual(TOLD);
    const endless = answering([noThread, streaming([bytes("data: "), ...Array(65).fill(mebi)], "stay")]);
    await expect(collect(endless.client.attach("r"))).rejects.toMatchObject({
      code: "internal",
      message: expect.stringContaining("more than"),
    });
  });
});

describe("who follows", () => {
  test("gives up when streams come to nothing for minutes, and is not told of a page that is no stream again and again", async () => {
    for (const ending of ["end", "break"] as const) {
      for (const told of ["", ": hello\n\n", HEAD, `${HEAD}data: {"type":\n\n`]) {
        const { client, asked } = answering([noThread, streaming([bytes(told)], ending)]);
        const failed = collect(client.attach("r")).catch((thrown: unknown) => thrown);
        const { value, ms } = await played(failed);
        expect(value).toMatchObject({ code: "server_unreachable" });
        expect(ms).toBeGreaterThan(120_000);
        expect(asked).toHaveLength(41);
      }
    }
    const page = answering([() => new Response("<html>", { headers: { "content-type": "text/html" } })]);
    await expect(collect(page.client.attach("t"))).rejects.toMatchObject({
      code: "internal",
      message: expect.stringContaining("text/html"),
    });
    expect(page.asked).toHaveLength(1);
  });

  test("does not give up on a silent stream that somebody between cuts again and again, also when the clock jumps", async () => {
    let cuts = 0;
    const silent = ({ signal }: Request): Response => {
      cuts += 1;
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          signal.addEventListener("abort", () => controller.error(signal.reason));
          setTimeout(() => controller.error(new TypeError("terminated")), 30_000);
          vi.setSystemTime(Date.now() + (cuts % 2 === 0 ? -86_400_000 : 90_000_000));
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    };
    const { client } = answering([noThread, ...Array(100).fill(silent), streaming([bytes(HEAD + TAIL)])]);
    expect((await played(collect(client.attach("r")))).value).toEqual(TOLD);
    expect(cuts).toBe(100);
  });

  test("has all of it from a proxy that keeps everything back until the end", async () => {
    const nothing = streaming([], "stay");
    const late = answering([noThread, nothing, streaming([bytes(HEAD + TAIL)])]);
    expect((await played(collect(late.client.attach("r")))).value).toEqual(TOLD);
    expect(late.asked).toHaveLength(3);
  });

  test("is told when the log was swept behind his cursor, at once", async () => {
    const { client, asked } = answering([refusing(410, { error: "the cursor is too old", code: "cursor_expired" })]);
    await expect(collect(client.attach("t", { after: "old" }))).rejects.toMatchObject({ code: "cursor_expired" });
    expect(asked).toEqual(["GET /v1/threads/t/events/stream behind old"]);
  });

  test("two on one client follow each for himself", async () => {
    const { client, asked } = answering([noThread, noThread, ...Array(2).fill(streaming(inPieces(bytes(HEAD + TAIL), 9)))]);
    const [one, two] = [client.attach("r"), client.attach("r")];
    const first = (async () => {
      for await (const event of one) if (event.type === "text-delta") return;
    })();
    expect(await collect(two)).toEqual(TOLD);
    await first;
    expect(asked).toHaveLength(4);
  });
});

describe("who is told to come back", () => {
  const later = (headers: Readonly<Record<string, string>>, status = 429) => refusing(status, "slow down", headers);
  const thread = () => Response.json({ id: "t" });

  test("comes when he was told to, by the server's clock, and not before", async () => {
    const date = "Mon, 16 Nov 2026 10:00:00 GMT";
    const busy = refusing(503, { error: "busy", code: "server_busy" }, { "retry-after": "3" });
    for (const [turn, ms] of [
      [later({ "retry-after": "7" }), 7_000],
      [later({ "retry-after": "Mon, 16 Nov 2026 10:00:05 GMT", date }, 503), 5_000],
      [busy, 3_000],
      [later({ "retry-after": "soon" }), 0],
      [later({}, 502), 0],
    ] as const) {
      const { client, asked } = answering([turn, thread]);
      const done = await played(client.threads.load("t"));
      expect(done.value).toEqual({ id: "t" });
      expect(done.ms).toBeGreaterThanOrEqual(ms);
      expect(done.ms).toBeLessThan(ms + 1_000);
      expect(asked).toHaveLength(2);
      const follows = answering([turn, streaming([bytes(HEAD + TAIL)], "stay")]);
      const attached = follows.client.attach("t")[Symbol.asyncIterator]();
      expect((await played(attached.next())).ms).toBeGreaterThanOrEqual(ms);
      await attached.return?.();
    }
  });

  test("is told at once when that is later than he would wait", async () => {
    for (const seconds of [3_600, 999_999_999, 99_999_999_999]) {
      const { client, asked } = answering([later({ "retry-after": String(seconds) })]);
      const failure = { code: "server_unreachable", details: { status: 429, retryAfterMs: seconds * 1_000 } };
      await expect(client.threads.load("t")).rejects.toMatchObject(failure);
      await expect(collect(client.attach("t"))).rejects.toMatchObject(failure);
      expect(asked).toHaveLength(2);
    }
  });

  test("waits for the end of a run over minutes without a server, as whoever follows it does", async () => {
    const done = () => Response.json({ status: "done", text: "hi" });
    const { client, asked } = answering([
      ...Array(20).fill(unreachable),
      refusing(504, { error: "not yet", code: "timeout" }),
      ...Array(30).fill(unreachable),
      done,
    ]);
    const { value, ms } = await played(client.wait("r"));
    expect(value).toMatchObject({ status: "done", text: "hi" });
    expect(ms).toBeGreaterThan(150_000);
    expect(asked).toHaveLength(52);
    await expect(played(answering([unreachable]).client.wait("r")).then(({ value: never }) => never)).rejects.toMatchObject({
      code: "server_unreachable",
    });
  });

  test("waits for the end of a run also with little time for answers: a question that the server was asked to hold has so much more", async () => {
    const hold =
      (answer: () => Response): Turn =>
      ({ signal }) =>
        new Promise((resolve, reject) => {
          const timer = setTimeout(() => resolve(answer()), 25_000);
          signal.addEventListener("abort", () => {
            clearTimeout(timer);
            reject(signal.reason);
          });
        });
    const notYet = hold(() => Response.json({ error: "not yet", code: "timeout" }, { status: 504 }));
    const turns = [...Array(3).fill(notYet), hold(() => Response.json({ status: "done", text: "hi" }))];
    for (const timeoutMs of [2_000, Number.POSITIVE_INFINITY]) {
      const { client, asked } = answering(turns, { timeoutMs });
      expect((await played(client.wait("r"))).value).toMatchObject({ status: "done", text: "hi" });
      expect(asked).toHaveLength(4);
    }
  });
});
