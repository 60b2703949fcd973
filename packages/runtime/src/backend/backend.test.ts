import { type BackendStatus, durableStatus, statusLabel, statusOfTermination, type Termination } from "@awaken/contract";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { team } from "../builtin/delegate/team.test-support.ts";
import { text, toolCall } from "../testing/script.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import { profileMismatches } from "./check-profile.ts";
import { LOCAL_PROFILE } from "./local-profile.ts";
import { STATELESS_REMOTE_PROFILE } from "./profile.ts";

describe("the profile of a backend", () => {
  test("multi-agent 1: every mismatch is reported, not only the first", () => {
    const wanted = {
      decisions: "live-only",
      overrides: "inference-params",
      frontendTools: "executable",
      persistence: "checkpoint",
    } as const;
    expect(profileMismatches(STATELESS_REMOTE_PROFILE, wanted)).toEqual(["decisions", "overrides", "frontendTools", "persistence"]);
    expect(profileMismatches(LOCAL_PROFILE, wanted)).toEqual([]);
  });

  test("multi-agent 2: user messages with remote state are as good as a full transcript", () => {
    const remote = { ...STATELESS_REMOTE_PROFILE, transcript: "incremental-user-messages-with-remote-state" } as const;
    expect(profileMismatches(remote, { transcript: "full-transcript" })).toEqual([]);
    expect(profileMismatches(STATELESS_REMOTE_PROFILE, { transcript: "full-transcript" })).toEqual(["transcript"]);
    expect(profileMismatches(LOCAL_PROFILE, { transcript: "incremental-user-messages-with-remote-state" })).toEqual([]);
  });

  test("multi-agent 1: nothing is always there, combined values stand for their parts, and not the other way", () => {
    const none = { cancellation: "none", continuation: "none", decisions: "none", persistence: "ephemeral", waits: "none" } as const;
    expect(profileMismatches(STATELESS_REMOTE_PROFILE, none)).toEqual([]);
    const both = { ...STATELESS_REMOTE_PROFILE, cancellation: "cooperative-token-and-remote-abort", waits: "input-and-auth" } as const;
    expect(profileMismatches(both, { cancellation: "remote-abort", waits: "auth" })).toEqual([]);
    const part = { ...STATELESS_REMOTE_PROFILE, cancellation: "remote-abort", waits: "input", decisions: "durable-resume" } as const;
    expect(profileMismatches(part, { cancellation: "cooperative-token", waits: "input-and-auth", decisions: "live-only" })).toEqual([
      "cancellation",
      "waits",
      "decisions",
    ]);
    expect(profileMismatches({ ...part, continuation: "remote-state" }, { continuation: "in-process-state" })).toEqual([]);
    expect(profileMismatches({ ...part, continuation: "in-process-state" }, { continuation: "remote-state" })).toEqual(["continuation"]);
  });

  test("multi-agent 58: the local backend has the full profile", () => {
    expect(LOCAL_PROFILE).toEqual({
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
  });
});

test("multi-agent 58: a decision for a target that is not there is refused with a code, and the run stays as it was", async () => {
  const pay = defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });
  const { runtime } = team({ a: { turns: [toolCall("pay", {}), text("done")] } }, { tools: [pay], store: memoryStore(), workers: false });
  const waiting = await runtime.run({ agent: "a", thread: "t", input: "go" });
  const [ticket] = ticketsOf(waiting);
  const resume = { thread: "t", resume: waiting.runId } as const;
  const nobody = { ticket: "nobody", decision: { action: "approve" } } as const;
  const both = [{ ticket: ticket?.id ?? "", decision: { action: "approve" } }, nobody] as const;
  await expect(runtime.run({ ...resume, decisions: both })).rejects.toMatchObject({ code: "ticket_not_found" });
  expect(await runtime.wait(waiting.runId)).toEqual(waiting);
  expect(await runtime.run({ ...resume, decisions: both.slice(0, 1) })).toMatchObject({ status: "done", text: "done" });
  await runtime.close();
});

describe("what became of a run of a backend", () => {
  test("multi-agent 4: a timeout is done, with reason and label `timeout`, whatever the termination says", () => {
    const termination: Termination = { type: "error", message: "deadline" };
    expect(durableStatus({ status: { type: "timeout" }, termination })).toEqual({ status: "done", reason: "timeout", label: "timeout" });
  });

  test("multi-agent 5: a wait for input waits with any termination", () => {
    const status: BackendStatus = { type: "waiting-input", message: "need details" };
    for (const termination of [{ type: "natural-end" }, { type: "cancelled" }, { type: "error", message: "x" }] as const) {
      expect(durableStatus({ status, termination })).toEqual({ status: "waiting", reason: "input-required", label: "waiting-input" });
    }
    expect(statusLabel(status)).toBe("waiting-input: need details");
    expect(statusLabel({ type: "waiting-input" })).toBe("waiting-input");
  });

  test.each([
    [{ type: "natural-end" }, { type: "completed" }, "completed"],
    [{ type: "behavior-requested" }, { type: "completed" }, "completed"],
    [{ type: "cancelled" }, { type: "cancelled" }, "cancelled"],
    [
      { type: "stopped", code: "max-steps", detail: "16 steps" },
      { type: "failed", message: "stopped: max-steps" },
      "failed: stopped: max-steps",
    ],
    [{ type: "blocked", reason: "no" }, { type: "failed", message: "blocked: no" }, "failed: blocked: no"],
    [{ type: "suspended" }, { type: "suspended" }, "suspended"],
    [{ type: "error", message: "boom", code: "internal" }, { type: "failed", message: "boom" }, "failed: boom"],
  ] as const)("multi-agent 6: the termination %o is the status %o", (termination, status, label) => {
    expect(statusOfTermination(termination)).toEqual(status);
    expect(statusLabel(status)).toBe(label);
  });
});
