import type { JsonValue } from "@awaken/contract";
import * as z from "zod";
import { defineTool, type ToolInit } from "./define-tool.ts";
import { fail, reply } from "./reply.ts";

// What a tool may return, and what the compiler refuses. core-execution 93 at compile time: `npm run check:types` runs this file.

const base = { id: "x", description: "", input: z.object({ n: z.number() }) };

class Money {
  readonly cents = 5;
  plus(other: Money): number {
    return this.cents + other.cents;
  }
}

class PaymentError extends Error {
  readonly code = "declined";
}

interface Order {
  readonly id: string;
  readonly note?: string;
  readonly paidAt: Date | undefined;
  readonly lines: readonly { readonly sku: string; readonly count: number }[];
  readonly parent?: Order;
}

type Nested = Date | readonly Nested[] | { readonly at: Nested };
type Odd = Date | Map<string, Date> | readonly Odd[] | { readonly at: Odd };

export function allowed(order: Order, json: JsonValue, nested: Nested): void {
  defineTool({ ...base, execute: ({ n }) => n });
  defineTool({ ...base, execute: async ({ n }) => ({ n, text: "a", list: [1, "b", null], none: undefined }) });
  defineTool({ ...base, execute: () => order });
  defineTool({ ...base, execute: async () => [order] as const });
  defineTool({ ...base, execute: async () => json });
  defineTool({ ...base, execute: () => nested });
  defineTool({ ...base, execute: () => ({ at: new Date(0), link: new URL("https://a.test") }) });
  defineTool({ ...base, execute: (): [Date, (number | undefined)?] => [new Date(0)] });
  defineTool({ ...base, execute: () => ({ name: "Ann", message: "hello" }) });
  defineTool({ ...base, execute: () => ({ name: "TypeError", message: "no", stack: "at a.ts" }) });
  defineTool({ ...base, execute: () => {} });
  defineTool({ ...base, execute: async () => undefined });
  defineTool({ ...base, execute: () => json as unknown });
  defineTool({ ...base, execute: () => ({ rest: json as unknown, by: {} as Record<string, unknown> }) });
  defineTool({ ...base, execute: () => Promise.reject(new Error("no")) });
  defineTool({ ...base, execute: async ({ n }) => (n > 1 ? reply({ n }, { message: "much" }) : { n }) });
  defineTool({ ...base, execute: ({ n }) => (n > 1 ? fail("much", "too much") : { kind: "few" as const, n }) });
  defineTool({ ...base, output: z.object({ a: z.number(), b: z.string().optional() }), execute: () => ({ a: 1 }) });
}

export const generic = <I>(init: ToolInit<I, unknown>) => defineTool(init);
export const wrapped = <I, O>(init: ToolInit<I, O>) => generic(init);

export function refused(odd: Odd): void {
  // @ts-expect-error a Map
  defineTool({ ...base, execute: () => new Map([["a", 1]]) });
  // @ts-expect-error a Set in a list
  defineTool({ ...base, execute: async () => ({ all: [new Set([1])] }) });
  // @ts-expect-error an Error
  defineTool({ ...base, execute: async () => new Error("x") });
  // @ts-expect-error an Error of the user's own
  defineTool({ ...base, execute: ({ n }) => (n > 1 ? { ok: true } : { ok: false, error: new PaymentError("x") }) });
  // @ts-expect-error an object with methods
  defineTool({ ...base, execute: () => ({ price: new Money() }) });
  // @ts-expect-error one of two is a Map
  defineTool({ ...base, execute: async ({ n }) => (n > 1 ? { ok: true } : new Map<string, number>()) });
  // @ts-expect-error a function
  defineTool({ ...base, execute: ({ n }) => ({ later: () => n }) });
  // @ts-expect-error a list of functions
  defineTool({ ...base, execute: ({ n }) => [() => n] as const });
  // @ts-expect-error a symbol
  defineTool({ ...base, execute: () => Symbol("x") });
  // @ts-expect-error a bigint
  defineTool({ ...base, execute: () => ({ n: 1n }) });
  // @ts-expect-error a promise that nobody waits for
  defineTool({ ...base, execute: async () => ({ late: Promise.resolve(1) }) });
  // @ts-expect-error a Map deep in a type that holds itself
  defineTool({ ...base, execute: () => odd });
  // @ts-expect-error the output schema gives a Map
  defineTool({ ...base, output: z.map(z.string(), z.string()), execute: () => new Map<string, string>() });
}
