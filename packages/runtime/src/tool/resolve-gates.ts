import { AwakenError, errorMessage, type Log } from "@awaken/contract";
import type { ResumedCall } from "../phase/hook.ts";
import { Bounds, DEFAULT_LIMITS, isPromise, type Work } from "../stream/bounds.ts";
import type { Gate, GateEntry, GateInput } from "./gate.ts";
import { plainVerdict } from "./plain-verdict.ts";
import { policyGate } from "./policy-gate.ts";
import type { Intercept, Verdict } from "./verdict.ts";

const RANK: Record<Intercept["type"], number> = { block: 4, deny: 3, suspend: 2, answer: 1 };

/** Whoever approved this call has answered every question about it; a refusal still stands. */
export const isAnswered = (resume: ResumedCall | undefined, { type }: Intercept): boolean =>
  type === "suspend" && resume !== undefined && resume.decision.action !== "deny";

/** Asks all gates, one after the other. The strongest intercept wins, the first among equals; two equals are a mistake and logged. */
export async function resolveGates(
  gates: readonly GateEntry[],
  input: GateInput,
  log: Log,
  bounds = boundsOf(input),
): Promise<Intercept | undefined> {
  let winner: { readonly verdict: Intercept; readonly plugin: string } | undefined;
  for (const entry of gates) {
    const { plugin } = entry;
    const verdict = await callGate(plugin, "gate" in entry ? entry.gate : policyGate(entry.policy), input, bounds);
    if (verdict === undefined || verdict.type === "allow" || isAnswered(input.resume, verdict)) continue;
    const difference = winner === undefined ? 1 : RANK[verdict.type] - RANK[winner.verdict.type];
    if (difference > 0) winner = { verdict, plugin };
    else if (difference === 0) {
      log.error(
        `gates of plugins '${winner?.plugin}' and '${plugin}' both ${verdict.type} the tool '${input.call.name}'; the first is kept`,
      );
    }
  }
  return winner?.verdict;
}

const GRACE_MS = 30_000;

const boundsOf = ({ signal, clock }: GateInput): Bounds => new Bounds(signal, { clock, limits: DEFAULT_LIMITS, cancelGraceMs: GRACE_MS });

/** Without a promise when the gate has none. */
function askGate(plugin: string, gate: Gate, input: GateInput): Verdict | undefined | Promise<Verdict | undefined> {
  const plain = (verdict: Verdict | undefined | void) =>
    verdict === undefined || verdict === null ? undefined : plainVerdict("the gate", verdict);
  const fail = (cause: unknown): never => {
    throw gateFailed(plugin, input, errorMessage(cause), cause);
  };
  try {
    const given = gate(input);
    return isPromise(given) ? Promise.resolve(given).then(plain).catch(fail) : plain(given);
  } catch (cause) {
    return fail(cause);
  }
}

async function callGate(plugin: string, gate: Gate, input: GateInput, bounds: Bounds): Promise<Verdict | undefined> {
  const asked = askGate(plugin, gate, input);
  const work: Work = { limit: "gateMs", onAbort: "leave", name: () => `the gate of plugin '${plugin}' on '${input.call.name}'` };
  return isPromise(asked) ? bounds.wait(asked, work) : asked;
}

const gateFailed = (plugin: string, input: GateInput, message: string, cause?: unknown): AwakenError =>
  new AwakenError("hook_failed", `gate of plugin '${plugin}' failed on '${input.call.name}': ${message}`, {
    cause,
    details: { plugin, phase: "toolGate" },
  });
