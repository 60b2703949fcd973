import { type AgentEvent, type InferenceRequest, messageId, messageText, toolCallId } from "@awaken/contract";
import { describe, expect, it, vi } from "vitest";
import { countingIds, fakeClock } from "../testing/fake-clock.ts";
import { parts, type ScriptedTurn, type ScriptItem, stall, text } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { type CheckpointSlot, DEFAULT_INFERENCE_POLICY, infer, type StreamCheckpoint } from "./infer.ts";
import { seldom } from "./seldom-door.ts";

const request: InferenceRequest = {
  model: "m",
  system: "",
  messages: [{ id: messageId("u1"), role: "user", content: [{ type: "text", text: "Hi" }] }],
  tools: [],
  promptCache: false,
};

const say = (delta: string): ScriptItem => ({ type: "text-delta", delta });
const start = (id: string, name: string): ScriptItem => ({ type: "tool-call-start", id, name });
const input = (id: string, delta: string): ScriptItem => ({ type: "tool-call-delta", id, delta });
const RESET: ScriptItem = { type: "throw", error: new Error("connection reset") };
const eight = ["1", "2", "3", "4", "5", "6", "7", "8"].map(say);

class MemorySlot implements CheckpointSlot {
  stored: StreamCheckpoint | undefined;
  readonly log: string[] = [];

  constructor(stored?: StreamCheckpoint) {
    this.stored = stored;
  }

  async load() {
    return this.stored;
  }

  async save(checkpoint: StreamCheckpoint) {
    this.log.push(`save ${checkpoint.text}`);
    this.stored = checkpoint;
  }

  async delete() {
    this.log.push("delete");
    this.stored = undefined;
  }
}

const saved = (checkpoint: Partial<StreamCheckpoint>): StreamCheckpoint => ({
  model: "m",
  text: "",
  toolCalls: [],
  updatedAt: 1_000_000,
  ...checkpoint,
});

function setup(turns: readonly ScriptedTurn[], checkpoints: CheckpointSlot, maxStreamRetries = 2) {
  const clock = fakeClock(1_000_000);
  const events: AgentEvent[] = [];
  const warnings: string[] = [];
  const controller = new AbortController();
  const provider = scripted(turns, { clock });
  const inferred = infer({
    provider,
    request,
    signal: controller.signal,
    clock,
    ids: countingIds(),
    log: { warn: (message) => warnings.push(message), error: () => {} },
    emit: (event) => events.push(event),
    policy: { ...DEFAULT_INFERENCE_POLICY, maxStreamRetries },
    checkpoints: async () => checkpoints,
  });
  return { clock, events, warnings, controller, requests: provider.requests, inferred };
}

async function play(turns: readonly ScriptedTurn[], slot: CheckpointSlot, maxStreamRetries = 2) {
  const { clock, events, warnings, requests, inferred } = setup(turns, slot, maxStreamRetries);
  await clock.runAll();
  const { turn, lostCall } = await inferred;
  expect(clock.pendingTimers).toBe(0);
  return { turn, lostCall, events, warnings, requests };
}

describe("stream checkpoints", () => {
  it("inference 27: hold all eight deltas when the stream fails, and are gone when it ends well", async () => {
    const failed = new MemorySlot();
    const { turn } = await play([parts(...eight, RESET)], failed, 0);
    expect(turn.stopReason).toBe("error");
    expect(failed.stored).toMatchObject({ model: "m", text: "12345678", updatedAt: 1_000_000 });

    const ended = new MemorySlot();
    await play([text(..."12345678")], ended);
    expect(ended.stored).toBeUndefined();
    expect(ended.log).toContain("save 1234");
    expect(ended.log.at(-1)).toBe("delete");
  });

  it("are written for every fourth delta, not for reasoning", async () => {
    const slot = new MemorySlot();
    const think: ScriptItem = { type: "reasoning-delta", delta: "hm" };
    await play([parts(think, think, think, think, say("1"), say("2"), say("3"), { type: "stop", reason: "end-turn" })], slot);
    expect(slot.log).toEqual(["delete"]);
  });

  it("are cumulative over recovered streams (I12)", async () => {
    const slot = new MemorySlot();
    await play([parts(say("a"), RESET), parts(say("b"), RESET)], slot, 1);
    expect(slot.stored?.text).toBe("ab");
  });

  it("hold complete calls and the one in flight", async () => {
    const slot = new MemorySlot();
    const { clock, controller, inferred } = setup(
      [stall(parts(start("a", "add"), input("a", "{}"), start("b", "sub"), input("b", '{"y"')), 4)],
      slot,
    );
    await clock.advance(1);
    expect(slot.stored).toMatchObject({
      toolCalls: [{ id: "a", name: "add", input: {} }],
      inFlight: { id: "b", name: "sub", partialInput: '{"y"' },
    });
    controller.abort();
    await inferred;
    await clock.advance(1);
    expect(slot.stored).toBeUndefined();
  });

  it("inference 28: continue from stored text in the first request", async () => {
    const slot = new MemorySlot(saved({ text: "Hello " }));
    const { turn, requests, events } = await play([text("world")], slot);
    expect(requests).toHaveLength(1);
    expect(requests[0]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect(requests[0]?.messages.map(messageText)[1]).toBe("Hello ");
    expect(turn.text).toBe("Hello world");
    expect(events).toEqual([{ type: "stream-reset", reason: "resumed from checkpoint" }, say("Hello "), say("world")]);
    expect(slot.stored).toBeUndefined();
  });

  it("inference 28: run a stored complete call without any request, and delete the record", async () => {
    const slot = new MemorySlot(
      saved({
        text: "ok",
        toolCalls: [{ id: toolCallId("a"), name: "add", input: { x: 1 } }],
        inFlight: { id: "b", name: "sub", partialInput: "{" },
      }),
    );
    const { turn, lostCall, requests, events } = await play([], slot);
    expect(requests).toHaveLength(0);
    expect(turn).toMatchObject({ text: "ok", stopReason: "tool-use", toolCalls: [{ id: "a", name: "add", input: { x: 1 } }] });
    expect(lostCall).toEqual({ id: "b", name: "sub" });
    expect(events.slice(-2).map(({ type }) => type)).toEqual(["tool-call-cancel", "tool-call-ready"]);
    expect(slot.stored).toBeUndefined();
  });

  it("cost nothing of the budget, and go on being cumulative", async () => {
    const slot = new MemorySlot(saved({ text: "a" }));
    const { turn } = await play([parts(say("b"), RESET), text("c")], slot, 1);
    expect(turn.text).toBe("abc");
  });

  it("are ignored when they are old or of another model (I12)", async () => {
    const age = 15 * 60_000;
    for (const old of [saved({ text: "x", updatedAt: 1_000_000 - age - 1 }), saved({ text: "x", model: "other" })]) {
      expect((await play([text("fresh")], new MemorySlot(old))).turn.text).toBe("fresh");
    }
    const short = Object.assign(new MemorySlot(saved({ text: "x", updatedAt: 999_000 })), { maxAgeMs: 500 });
    expect((await play([text("fresh")], short)).turn.text).toBe("fresh");
    expect((await play([text("y")], new MemorySlot(saved({ text: "x", updatedAt: 1_000_000 - age })))).turn.text).toBe("xy");
  });

  it("start over when nothing in them can be kept", async () => {
    const slot = new MemorySlot(saved({ inFlight: { id: "b", name: "sub", partialInput: "{" } }));
    const { turn, requests, events } = await play([text("new")], slot);
    expect(requests[0]?.messages).toEqual(request.messages);
    expect(events[0]).toEqual({ type: "stream-reset", reason: "resumed from checkpoint" });
    expect(turn.text).toBe("new");
  });

  it("inference 29: do not matter when their store fails", async () => {
    const fail = async () => {
      throw new Error("disk full");
    };
    const { turn, warnings } = await play([parts(...eight, RESET), text("9")], { load: fail, save: fail, delete: fail });
    expect(turn).toMatchObject({ text: "123456789", stopReason: "end-turn" });
    expect(new Set(warnings)).toEqual(new Set(["stream checkpoint store failed"]));
  });

  it("do not hold up an abort when their store hangs", async () => {
    const hang = () => new Promise<never>(() => {});
    const { controller, inferred } = setup([], { load: hang, save: hang, delete: hang });
    controller.abort();
    expect((await inferred).turn.stopReason).toBe("end-turn");
  });

  it("skip saves that a slow store has no time for, and never come back after the delete", async () => {
    const log: string[] = [];
    const release = Promise.withResolvers<void>();
    const slow: CheckpointSlot = {
      load: async () => undefined,
      save: async ({ text: soFar }) => {
        await release.promise;
        log.push(soFar);
      },
      delete: async () => {
        log.push("delete");
      },
    };
    const { clock, inferred } = setup([text(..."123456789012")], slow);
    await clock.advance(1);
    release.resolve();
    await inferred;
    await clock.advance(1);
    expect(log).toEqual(["1234", "delete"]);
  });

  it("an answer is given all the same where the part that keeps it cannot be loaded", async () => {
    vi.spyOn(seldom, "open").mockImplementation(() => Promise.reject(new Error("no such file")));
    const slot = new MemorySlot();
    const { turn, warnings } = await play([text("all of it")], slot);
    expect(turn).toMatchObject({ text: "all of it", stopReason: "end-turn" });
    expect(slot.log).toEqual([]);
    expect(warnings).toEqual(["an answer is not kept while it streams: no such file"]);
  });
});
