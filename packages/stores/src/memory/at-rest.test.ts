import { dispatchId, messageId, NATURAL_END, NO_USAGE, type RunRecord, runId, threadId } from "@awaken/contract";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { recordOf, restRun } from "./at-rest.ts";

const [T, R] = [threadId("t"), runId("r")];
/** Also times that lie before the first one, and years behind it. */
const time = fc.oneof(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 1.7e12, max: 1.9e12 }));
const count = fc.nat(9);

const run = fc.record(
  {
    schemaVersion: fc.constant(2 as const),
    status: fc.constant("done" as const),
    runId: fc.constant(R),
    threadId: fc.constant(T),
    agentId: fc.string(),
    activation: fc.constant({
      intent: { type: "new-intent" as const },
      options: { frontendTools: [] },
      trace: { origin: "user" as const, runMode: "foreground" as const, adapter: "internal" as const },
    }),
    input: fc.constant({ triggerMessageIds: [messageId("m")], selectedMessageIds: [] }),
    createdAt: time,
    updatedAt: time,
    finishedAt: time,
    startedAt: time,
    ordinal: count,
    steps: count,
    usage: fc.constant(NO_USAGE),
    usageByModel: fc.constant([{ provider: "p", model: "m", usage: NO_USAGE }]),
    usageBelow: fc.constant([]),
    decided: fc.constant([]),
    closed: fc.constant([]),
    answerId: fc.constant(messageId("a")),
    dispatchId: fc.constant(dispatchId("d")),
    parentRunId: fc.constant(runId("parent")),
    rootRunId: fc.constant(runId("root")),
    principal: fc.constant({ sub: "ana" }),
    traceParent: fc.string(),
    sessionId: fc.string(),
    output: fc.record({ fromSeq: count, toSeq: count }, { noNullPrototype: true }),
    state: fc.record({ schemaVersion: fc.constant(1 as const), revision: count, extensions: fc.constant({}) }, { noNullPrototype: true }),
    outcome: fc.record(
      { termination: fc.constant(NATURAL_END), response: fc.string(), output: fc.constantFrom(null, 0, "", { a: [1] }) },
      { requiredKeys: ["termination", "response"], noNullPrototype: true },
    ),
  },
  {
    noNullPrototype: true,
    requiredKeys: [
      ...([
        "schemaVersion",
        "status",
        "runId",
        "threadId",
        "agentId",
        "activation",
        "input",
        "createdAt",
        "updatedAt",
        "finishedAt",
      ] as const),
      ...(["ordinal", "steps", "usage", "decided", "outcome"] as const),
    ],
  },
);

const without = <Row extends object>(row: Row, absent: readonly string[]): Row => {
  const usual = { ...row };
  for (const field of absent) Reflect.deleteProperty(usual, field);
  return usual;
};

describe("what is at rest is read as it was written, to the last field", () => {
  test("a run that is over", () => {
    const absent = ["parentRunId", "rootRunId", "principal", "traceParent", "sessionId", "usageBelow", "closed"];
    const given = {
      answerId: messageId("a"),
      output: { fromSeq: 1, toSeq: 2 },
      state: { schemaVersion: 1 as const, revision: 1, extensions: {} },
    };
    fc.assert(
      fc.property(run, (any) => {
        const usual: RunRecord = without({ ...any, ...given, startedAt: any.createdAt }, absent);
        expect(recordOf(restRun(any))).toStrictEqual(any);
        expect(restRun(usual)).not.toBe(usual);
        expect(recordOf(restRun(usual))).toStrictEqual(usual);
      }),
    );
  });
});
