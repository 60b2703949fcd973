import { setTimeout as sleep } from "node:timers/promises";
import { allow, ask, createRuntime, defineTool, type Provider, type Runtime, type RuntimeInit } from "awaken";
import * as z from "zod";

// The service desk of a shop. Billing is an agent of its own; what it has to ask is asked in the conversation with the desk.

const PLACES = ["on its way, in Bergen", "at your door tomorrow", "packed, waiting for the van"];

/** Where an order is. */
export type Courier = (order: string, signal: AbortSignal) => Promise<string>;

const slowCourier: Courier = async (order, signal) => {
  await sleep(900, undefined, { signal });
  return PLACES[Number(order) % PLACES.length] ?? "unknown";
};

const trackOrder = (courier: Courier) =>
  defineTool({
    id: "track_order",
    description: "Where an order is",
    input: z.object({ order: z.string() }),
    pure: true,
    execute: async ({ order }, { signal }) => ({ order, status: await courier(order, signal) }),
  });

const refund = defineTool({
  id: "refund",
  description: "Gives money back for an order",
  input: z.object({ order: z.string(), amount: z.number().positive().max(1_000, "at most 1,000 €"), note: z.string() }),
  // Above 100 a person has to approve. The run waits for that as long as it takes, in the database.
  approve: ({ order, amount }) => (amount > 100 ? ask(`Refund ${amount} € for order ${order}?`) : allow()),
  idempotent: true,
  execute: async ({ order, amount }) => ({ order, refunded: amount }),
});

const creditNote = defineTool({
  id: "credit_note",
  description: "Corrects an invoice",
  input: z.object({ invoice: z.string(), amount: z.number().positive() }),
  approve: ({ invoice, amount }) => ask(`Issue a credit note of ${amount} € on invoice ${invoice}?`),
  idempotent: true,
  execute: async ({ invoice, amount }) => ({ invoice, credited: amount }),
});

export interface DeskInit {
  readonly provider: Provider;
  readonly store: NonNullable<RuntimeInit["store"]>;
  readonly courier?: Courier;
}

/** The desk, and billing behind it. */
export function openDesk({ provider, store, courier = slowCourier }: DeskInit): Runtime {
  return createRuntime({
    providers: { demo: provider },
    models: { main: { provider: "demo", model: "demo" } },
    agents: {
      desk: {
        model: "main",
        description: "Answers customers",
        instructions: "Be brief and friendly. Never invent the result of a tool.",
        tools: ["track_order", "refund"],
        delegates: ["billing"],
      },
      billing: { model: "main", description: "Corrects invoices", instructions: "Correct what you are asked to.", tools: ["credit_note"] },
    },
    tools: [trackOrder(courier), refund, creditNote],
    store,
    workers: true,
  });
}
