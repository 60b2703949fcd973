import { describe, expect, it } from "vitest";
import { command, extendCommand } from "../phase/command.ts";
import { counter, slot, storeOf, thrownBy } from "../plugin/engine-bench.test-support.ts";
import { type Batch, commonBase } from "./batch.ts";
import { conflictingKey, mergeBatches } from "./merge.ts";

const log = slot("log", {
  merge: "commutative",
  initial: () => [],
  apply: (value, item) => [...(Array.isArray(value) ? value : []), item],
});
const exclusive = counter("exclusive");
const free = counter("free");
const stranger = counter("stranger", "commutative");
const store = storeOf([log, exclusive, free]);
const ruleOf = (key: string) => store.mergeRule(key);
const touchedKeys = ({ updates }: Batch): string[] => updates.map(({ key }) => key.name);

describe("merge", () => {
  it("core-execution 8: parallel batches on a commutative key concatenate left then right", () => {
    const left = command().update(log, "a").update(log, "b");
    const right = command().update(log, "c").update(exclusive, 1);
    const merged = mergeBatches(left, right, ruleOf);
    expect(merged.updates.map(({ update }) => update)).toEqual(["a", "b", "c", 1]);
    expect(touchedKeys(merged)).toEqual(["log", "log", "log", "exclusive"]);
    const own = storeOf([log, exclusive]);
    own.commit(merged);
    expect(own.snapshot().get(log)).toEqual(["a", "b", "c"]);
  });

  it("core-execution 9: parallel batches on an exclusive or unregistered key conflict by name, and nothing is half merged", async () => {
    const left = command().update(free, 1).update(exclusive, 1);
    const right = command().update(log, "x").update(exclusive, 2);
    const before = [left.updates.length, right.updates.length];
    const error = await thrownBy(() => mergeBatches(left, right, ruleOf));
    expect(error).toMatchObject({ code: "parallel_merge_conflict", details: { key: "exclusive" } });
    expect([left.updates.length, right.updates.length]).toEqual(before);
    const unknown = await thrownBy(() => mergeBatches(command().update(stranger, 1), command().update(stranger, 1), ruleOf));
    expect(unknown.details).toEqual({ key: "stranger" });
  });

  it("core-execution 10: different base revisions cannot be extended or merged; one alone wins", async () => {
    const at = (revision: number) => command().update(free, 1).from(revision);
    const bare = command().update(exclusive, 1);
    for (const work of [
      () => mergeBatches(at(1), command().update(exclusive, 1).from(2), ruleOf),
      () => extendCommand(at(1), at(2)),
      () => commonBase(1, 2),
    ]) {
      expect(await thrownBy(work)).toMatchObject({ code: "mutation_base_revision_mismatch", details: { left: 1, right: 2 } });
    }
    expect(mergeBatches(at(3), bare, ruleOf).baseRevision).toBe(3);
    expect(mergeBatches(bare, at(3), ruleOf).baseRevision).toBe(3);
    expect(extendCommand(at(3), at(3)).baseRevision).toBe(3);
    expect(extendCommand(bare, bare).baseRevision).toBeUndefined();
  });

  it("merges disjoint and empty batches always, and extends one author's own key freely", () => {
    expect(touchedKeys(mergeBatches(command().update(free, 1), command().update(exclusive, 1), ruleOf))).toEqual(["free", "exclusive"]);
    expect(mergeBatches(command(), command().update(exclusive, 1), ruleOf).updates).toHaveLength(1);
    expect(conflictingKey(command().update(exclusive, 1), command(), ruleOf)).toBeUndefined();
    expect(touchedKeys(extendCommand(command().update(exclusive, 1), command().update(exclusive, 2)))).toEqual(["exclusive", "exclusive"]);
  });

  it("names the first conflicting key of the right side", () => {
    const left = command().update(exclusive, 1).update(free, 1);
    const right = command().update(log, "x").update(free, 1).update(exclusive, 1);
    expect(conflictingKey(left, right, ruleOf)).toBe("free");
  });
});
