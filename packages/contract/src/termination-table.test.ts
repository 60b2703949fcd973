import { describe, expect, it } from "vitest";
import { type Conclusion, conclude } from "./conclusion.ts";
import { AwakenError } from "./error.ts";
import { ERROR_TABLE, type ErrorCode } from "./error-table.ts";
import { INFERENCE_FAILURES } from "./inference.ts";
import type { Termination } from "./termination.ts";
import { TERMINATION_TABLE } from "./termination-table.ts";

const EXAMPLES: { readonly [T in Termination["type"]]: Extract<Termination, { type: T }> } = {
  "natural-end": { type: "natural-end" },
  "behavior-requested": { type: "behavior-requested" },
  stopped: { type: "stopped", code: "max-steps" },
  cancelled: { type: "cancelled" },
  blocked: { type: "blocked", reason: "no" },
  suspended: { type: "suspended" },
  error: { type: "error", message: "broken" },
};

describe("the table of terminations", () => {
  it("says every result that a run may have, and none that it may not", () => {
    for (const termination of Object.values(EXAMPLES)) {
      const { leaves, results } = TERMINATION_TABLE[termination.type];
      const told = new Set<Conclusion["status"]>();
      for (const status of leaves) {
        for (const isOutputMissing of [false, true])
          told.add(conclude({ termination, status, waitingReason: undefined, isOutputMissing }).status);
      }
      expect([...told].toSorted(), termination.type).toEqual([...results].toSorted());
    }
  });
});

describe("the table of error codes", () => {
  it("lets a caller try again when the failure of an inference may pass", () => {
    const codes: readonly string[] = Object.keys(ERROR_TABLE);
    const isCode = (code: string): code is ErrorCode => codes.includes(code);
    for (const [type, kind] of Object.entries(INFERENCE_FAILURES)) {
      const code = `inference_${type.replaceAll("-", "_")}`;
      if (!isCode(code)) throw new Error(`no row for ${code}`);
      if (kind !== "fail-fast") expect(new AwakenError(code, "x").canRetry, code).toBe(kind === "transient");
    }
  });
});
