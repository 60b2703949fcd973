import { describe, expect, test } from "vitest";
import { toolCallId } from "../ids.ts";
import { userRecord } from "../spec/envelope.ts";
import { checkConfigRevision, readConfigRow, stampConfigRecord, toConfigRow } from "./config-records.ts";
import { profileOwner, profileRecord } from "./profiles.ts";
import { type StreamCheckpoint, streamCheckpoint } from "./stream-checkpoints.ts";
import { R1, T1 } from "./test-records.ts";

const refused = (code: string) => expect.objectContaining({ code });

describe("config records", () => {
  const key = { namespace: "agents", id: "a" };
  const first = stampConfigRecord(undefined, userRecord({ model: "m" }), 5);

  test("the store counts revisions from 1 and keeps the time of creation", () => {
    expect(first.meta).toMatchObject({ revision: 1, createdAt: 5, updatedAt: 5 });
    const forged = { ...first, meta: { ...first.meta, revision: 99, createdAt: 0 } };
    expect(stampConfigRecord(first, forged, 8).meta).toMatchObject({ revision: 2, createdAt: 5, updatedAt: 8 });
  });

  test("a guard that does not match is a conflict with both numbers; absent counts as 0", () => {
    expect(() => checkConfigRevision(undefined, key, { expectedRevision: 0 })).not.toThrow();
    expect(() => checkConfigRevision(first, key, { expectedRevision: 1 })).not.toThrow();
    expect(() => checkConfigRevision(first, key, {})).not.toThrow();
    expect(() => checkConfigRevision(first, key, { expectedRevision: 0 })).toThrow(
      expect.objectContaining({ code: "version_conflict", details: { ...key, expected: 0, actual: 1 } }),
    );
  });

  test("come back as they were written; a corrupt one names its key", () => {
    const row: unknown = JSON.parse(JSON.stringify(toConfigRow({ ...key, record: first })));
    expect(readConfigRow(row, key)).toEqual({ ...key, record: first });
    expect(() => readConfigRow({ schemaVersion: 1, spec: 7, meta: {} }, key)).toThrow(refused("storage_corrupt"));
    expect(() => readConfigRow("x", key)).toThrow(/agents\/a/);
    expect(() => readConfigRow({ schemaVersion: 9, spec: {}, meta: {} }, key)).toThrow(refused("storage_too_new"));
  });

  test("a blank key or a spec that is not JSON cannot be stored", () => {
    expect(() => toConfigRow({ ...key, id: " ", record: first })).toThrow(refused("storage_validation"));
    const record = userRecord({ n: Number.NaN });
    expect(() => toConfigRow({ ...key, record })).toThrow(refused("storage_validation"));
  });
});

describe("profiles", () => {
  test("belong to an agent or to the system", () => {
    const record = { schemaVersion: 1, owner: profileOwner("thread::t1"), key: "locale", value: null, updatedAt: 1 };
    expect(profileRecord.check(record)).toEqual(record);
    expect(profileRecord.check({ ...record, owner: "system" })).toMatchObject({ owner: "system" });
    for (const owner of ["agent:", "agent: ", "user:1", "", 7]) {
      expect(() => profileRecord.check({ ...record, owner })).toThrow(refused("storage_validation"));
    }
    expect(() => profileRecord.check({ ...record, key: "" })).toThrow(refused("storage_validation"));
  });
});

describe("stream checkpoints", () => {
  const checkpoint: StreamCheckpoint = {
    schemaVersion: 1,
    runId: R1,
    step: 2,
    threadId: T1,
    upstreamModel: "m",
    partialText: "Hel",
    completedToolCalls: [{ id: toolCallId("c1"), name: "t", input: {} }],
    inFlightTool: { id: toolCallId("c2"), name: "t", partialInput: '{"a":' },
    updatedAt: 100,
  };

  test("come back as they were written", () => {
    expect(streamCheckpoint.read(streamCheckpoint.check(checkpoint), "r1/2")).toEqual(checkpoint);
    expect(() => streamCheckpoint.read({ ...checkpoint, step: -1 }, "r1/-1")).toThrow(refused("storage_corrupt"));
  });
});
