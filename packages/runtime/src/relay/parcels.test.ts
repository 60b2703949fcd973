import { type AgentEvent, messageId, runId, toolCallId } from "@awaken/contract";
import { MAX_PARCEL_BYTES } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import { HeardStep, type PassingEvent } from "./live-event.ts";
import { ASK, pack, readParcel, toBody } from "./parcels.ts";
import { ShownStep } from "./show-step.ts";

const start = { type: "step-start", step: 2, messageId: messageId("m"), agentId: "a" } as const;
const say = (delta: string) => ({ type: "text-delta", delta }) as const;
const of = (filling: { readonly events: readonly AgentEvent[]; readonly passing: readonly PassingEvent[] }, n = 0) =>
  toBody({ type: "events", runId: runId("r"), writtenAt: 1, by: "b", n, ...filling }) ?? expect.fail();

describe("parcels", () => {
  test("however long a delta is, each parcel is below the limit of the store, and together they say the same", () => {
    const long = "\u0001ä😀".repeat(20_000);
    const fillings = pack([start, say(long), say("end")], []);
    expect(fillings.length).toBeGreaterThan(10);
    const heard = new HeardStep();
    for (const filling of fillings) {
      const body = of(filling);
      expect(new TextEncoder().encode(JSON.stringify(body)).length).toBeLessThanOrEqual(MAX_PARCEL_BYTES);
      const parcel = readParcel(body);
      if (parcel?.type !== "events") expect.fail();
      for (const event of parcel.events) heard.hear(event);
    }
    expect(heard.current).toEqual({ start, facts: [], parts: [{ type: "text", text: `${long}end` }] });
  });

  test("what passes by goes with its step, in pieces if need be; what fits nowhere is left out", () => {
    const output = { type: "tool-call-stream-delta", toolCallId: toolCallId("c"), toolName: "t", delta: "x".repeat(9_000) } as const;
    const huge = { type: "activity-snapshot", messageId: "c", activityType: "x", content: "y".repeat(9_000) } as const;
    const fillings = pack(
      [],
      [
        { step: 2, event: output },
        { step: 2, event: huge },
      ],
    );
    const passing = fillings.flatMap((filling) => filling.passing);
    expect(passing.map(({ step }) => step)).toEqual(passing.map(() => 2));
    expect(passing.map(({ event }) => ("delta" in event ? event.delta : "?")).join("")).toBe(output.delta);
    expect(pack([], [])).toEqual([]);
  });

  test("strangers may write anything: it is not read", () => {
    expect(readParcel(ASK)).toEqual({ type: "ask" });
    for (const body of [{}, { type: "events" }, { type: "events", by: 1, n: "0" }, { ...of({ events: [], passing: [] }), events: {} }]) {
      expect(readParcel(body)).toBeUndefined();
    }
    expect(readParcel({ ...of({ events: [start], passing: [] }), events: [{ type: "nonsense" }, 7, start] })).toMatchObject({
      events: [start],
    });
  });
});

describe("what a reader is shown of a step", () => {
  const shown = (
    step: ShownStep,
    ...[parts, facts = []]: [Parameters<ShownStep["advance"]>[0]["parts"], Parameters<ShownStep["advance"]>[0]["facts"]?]
  ) => [...step.advance({ parts, facts })];
  const call = (input: string) => ({ type: "call", id: toolCallId("c"), name: "t", input }) as const;

  test("goes from what was seen to what there is, and says nothing twice", () => {
    const step = new ShownStep(start);
    expect(shown(step, [])).toEqual([start]);
    expect(shown(step, [{ type: "text", text: "One " }])).toEqual([say("One ")]);
    expect(shown(step, [{ type: "text", text: "One " }])).toEqual([]);
    expect(shown(step, [{ type: "text", text: "One two" }, call('{"a"')])).toEqual([
      say("two"),
      { type: "tool-call-start", toolCallId: "c", toolName: "t" },
      { type: "tool-call-delta", toolCallId: "c", delta: '{"a"' },
    ]);
    expect(shown(step, [{ type: "text", text: "One " }, { type: "text", text: "two" }, call('{"a":1}')])).toEqual([
      { type: "tool-call-delta", toolCallId: "c", delta: ":1}" },
    ]);
  });

  test("starts over after a reset, and by itself when what was said is not what it became", () => {
    const reset = { type: "stream-reset", reason: "broken" } as const;
    const step = new ShownStep(start);
    expect(shown(step, [{ type: "text", text: "Lost" }])).toEqual([start, say("Lost")]);
    expect(shown(step, [{ type: "text", text: "Lo and behold" }], [reset])).toEqual([reset, say("Lo and behold")]);
    expect(shown(step, [{ type: "text", text: "Other" }], [reset])).toEqual([
      expect.objectContaining({ type: "stream-reset" }),
      say("Other"),
    ]);
    expect(shown(step, [{ type: "text", text: "Other" }], [reset])).toEqual([]);
  });
});
