import { describe, expect, it } from "vitest";
import { countedSignal } from "../stream/counted-signal.test-support.ts";
import { onRunAbort } from "./run-abort.ts";

describe("onRunAbort", () => {
  it.each([10, 1_000])("%i calls of a run put one listener on its signal, which goes with the last of them", (count) => {
    const { controller, counts } = countedSignal();
    const leave = Array.from({ length: count }, () => onRunAbort(controller.signal, () => {}));
    expect(counts).toMatchObject({ added: 1, open: 1 });
    for (const each of leave) each();
    expect(counts).toMatchObject({ added: 1, removed: 1, open: 0 });
  });

  it("tells everybody who has not left, also when one of them leaves meanwhile", () => {
    const { controller } = countedSignal();
    const told: string[] = [];
    const leaves = ["a", "b", "c"].map((name) => onRunAbort(controller.signal, () => told.push(name)));
    leaves[1]?.();
    controller.abort();
    expect(told).toEqual(["a", "c"]);
  });

  it("listens again when somebody comes after the last has left", () => {
    const { controller, counts } = countedSignal();
    const told: string[] = [];
    onRunAbort(controller.signal, () => told.push("gone"))();
    onRunAbort(controller.signal, () => told.push("here"));
    expect(counts).toMatchObject({ added: 2, open: 1 });
    controller.abort();
    expect(told).toEqual(["here"]);
  });
});
