import type { Verdict } from "./verdict.ts";

const ALLOW: Verdict = Object.freeze({ type: "allow" });

/** Lets the call run. */
export const allow = (): Verdict => ALLOW;
