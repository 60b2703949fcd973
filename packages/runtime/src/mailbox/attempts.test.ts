import { AwakenError } from "@awaken/contract";
import { expect, test } from "vitest";
import { judgeFailure, retryDelayMs } from "./attempts.ts";

test("server-and-durability 28: retry delays are 250, 250, 500, 1000 ms, and never more than 30 s", () => {
  expect([0, 1, 2, 3].map(retryDelayMs)).toEqual([250, 250, 500, 1_000]);
  expect(retryDelayMs(7)).toBe(16_000);
  expect(retryDelayMs(1_000)).toBe(16_000);
});

test("what another node could do is given back, what nobody can is a dead letter, what may pass is tried again", () => {
  const of = (code: ConstructorParameters<typeof AwakenError>[0]) => judgeFailure(new AwakenError(code, "x")).type;
  expect(of("agent_not_found")).toBe("release");
  expect(of("storage_too_new")).toBe("release");
  expect(of("part_not_loaded")).toBe("release");
  expect(of("model_not_found")).toBe("dead-letter");
  expect(of("storage_corrupt")).toBe("dead-letter");
  expect(of("storage_io")).toBe("retry");
  expect(of("fence_lost")).toBe("lost");
  expect(judgeFailure("odd")).toEqual({ type: "retry", error: "odd" });
});
