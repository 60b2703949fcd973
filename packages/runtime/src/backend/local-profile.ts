import type { BackendProfile } from "@awaken/contract";

/** The loop of this process. */
export const LOCAL_PROFILE: BackendProfile = /* @__PURE__ */ Object.freeze({
  cancellation: "cooperative-token",
  continuation: "in-process-state",
  decisions: "live-and-durable",
  overrides: "model-and-params",
  frontendTools: "executable",
  persistence: "checkpoint",
  waits: "input-and-auth",
  transcript: "full-transcript",
  output: "text-and-artifacts",
});
