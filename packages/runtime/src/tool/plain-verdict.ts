import { plainResult, plainSuspension } from "./plain-result.ts";
import type { Verdict } from "./verdict.ts";

/** As `plain-result.ts` does for results: what a gate says, made plain and our own. */
export function plainVerdict(giver: string, given: Verdict): Verdict {
  switch (given.type) {
    case "allow":
      return given;
    case "block":
      return { type: "block", reason: String(given.reason) };
    case "deny":
      return { type: "deny", reason: String(given.reason) };
    case "suspend":
      return { type: "suspend", suspension: plainSuspension(giver, given.suspension) };
    case "answer":
      return { type: "answer", result: plainResult(giver, given.result) };
    default:
      // What is not understood must not let the tool run.
      throw new TypeError(`${giver}: unknown verdict ${JSON.stringify(given)}`);
  }
}
