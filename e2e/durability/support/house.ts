import { type InferenceRequest, messageText } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { type ScriptStep, scripted, text, ticketsOf, toolCall } from "@awaken/runtime/testing";
import { ask, createRuntime, defineTool, type RunResult, type Runtime, type RuntimeInit } from "awaken";
import * as z from "zod";

/** The world outside: what was paid, and under which key. */
export interface Payments {
  add(key: string): void;
  has(key: string): boolean;
}

/** What a model says follows from what it reads last: it may be asked in any process. */
const always = (say: (last: { readonly role: string; readonly said: string }) => ReturnType<typeof text>) =>
  scripted(
    new Array<ScriptStep>(200).fill(({ messages }: InferenceRequest) => {
      const last = messages.at(-1);
      return say({ role: last?.role ?? "user", said: last === undefined ? "" : messageText(last) });
    }),
  );

const passOn = (to: string, name: string) =>
  always(({ role, said }) =>
    role === "tool" ? text(`${name} heard: ${said}`) : toolCall(`agent_run_${to}`, { prompt: "go" }, { id: "c1" }),
  );

/** A lead, who asks a researcher, who asks a clerk, who pays when somebody approves. */
export function openHouse(store: QueueStore, payments: Payments, init: Partial<RuntimeInit> = {}): Runtime {
  const pay = defineTool({
    id: "pay",
    description: "",
    input: z.object({}),
    approve: () => ask("Pay?"),
    reconcile: (_, { idempotencyKey }) => (payments.has(idempotencyKey) ? { type: "done", data: "paid" } : { type: "not-done" }),
    execute: (_, { idempotencyKey }) => {
      payments.add(idempotencyKey);
      return "paid";
    },
  });
  const clerk = always(({ role, said }) => (role === "tool" ? text(`clerk ${said}`) : toolCall("pay", {}, { id: "c1" })));
  return createRuntime({
    providers: { lead: passOn("researcher", "lead"), researcher: passOn("clerk", "researcher"), clerk },
    models: Object.fromEntries(["lead", "researcher", "clerk"].map((id) => [id, { provider: id, model: "m" }])),
    agents: {
      lead: { model: "lead", delegates: ["researcher"], tools: [] },
      researcher: { model: "researcher", description: "Asks", delegates: ["clerk"], tools: [] },
      clerk: { model: "clerk", description: "Pays", tools: ["pay"] },
    },
    tools: [pay],
    store,
    log: { warn() {}, error() {} },
    ...init,
  });
}

export const HOUSE_ANSWER = "lead heard: researcher heard: clerk paid";

/** Decides whatever the root shows, until it is over. */
export async function bringToEnd(runtime: Runtime, id: string): Promise<RunResult> {
  for (;;) {
    const result = await runtime.wait(id);
    if (result.status !== "waiting") return result;
    for (const { id: ticket } of ticketsOf(result)) {
      const decided = await runtime.decide(ticket, { action: "approve", id: `approve ${ticket}` });
      await decided.result;
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
