import { describe, expect, it } from "vitest";
import { EVENT_STAGES, EVENT_TABLE, type EventStage } from "./event-table.ts";
import { type Schema, toJsonSchema, validateSync } from "./schema.ts";

describe("the table of events", () => {
  const rows: readonly (readonly [string, { readonly schema: Schema; readonly stage: EventStage; readonly isStored: boolean }])[] =
    Object.entries(EVENT_TABLE);

  it("has a schema of its own type, a stage and a word on storage for every event", () => {
    for (const [type, { schema, stage, isStored }] of rows) {
      expect(EVENT_STAGES, type).toContain(stage);
      expect(typeof isStored, type).toBe("boolean");
      expect(validateSync(schema, { type: "another" }).type, type).toBe("invalid");
      expect(toJsonSchema(schema), type).toMatchObject({});
    }
  });

  it("keeps what is needed to tell a run again, and leaves out what only a live listener needs", () => {
    expect(rows.filter(([, { isStored }]) => !isStored).map(([type]) => type)).toEqual([
      "step-start",
      "step-end",
      "text-delta",
      "reasoning-delta",
      "reasoning-encrypted-value",
      "tool-call-start",
      "tool-call-delta",
      "inference-retry",
      "tool-call-run",
      "tool-call-stream-delta",
      "state-snapshot",
      "activity-snapshot",
    ]);
  });

  it("takes an event with all of its fields, and no field that is not its own", () => {
    const full = { type: "inference-retry", attempt: 1, delayMs: 5, reason: "busy" };
    expect(validateSync(EVENT_TABLE["inference-retry"].schema, full)).toEqual({ type: "valid", value: full });
    expect(validateSync(EVENT_TABLE["inference-retry"].schema, { ...full, extra: 1 }).type).toBe("invalid");
  });
});
