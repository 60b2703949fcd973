import type { BackendProfile } from "@awaken/contract";

/** One prompt, one text, and nothing else: what is known of a backend that says nothing of itself. */
export const STATELESS_REMOTE_PROFILE: BackendProfile = /* @__PURE__ */ Object.freeze({
  cancellation: "none",
  continuation: "none",
  decisions: "none",
  overrides: "none",
  frontendTools: "none",
  persistence: "ephemeral",
  waits: "none",
  transcript: "single-prompt",
  output: "text",
});

/** An agent behind the A2A protocol: it keeps the conversation, may ask back, and can be told to stop. */
export const A2A_PROFILE: BackendProfile = /* @__PURE__ */ Object.freeze({
  cancellation: "remote-abort",
  continuation: "remote-state",
  decisions: "none",
  overrides: "none",
  frontendTools: "none",
  persistence: "cross-session",
  waits: "input-and-auth",
  transcript: "incremental-user-messages-with-remote-state",
  output: "text-and-artifacts",
});
