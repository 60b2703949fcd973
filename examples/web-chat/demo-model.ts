import { setTimeout as sleep } from "node:timers/promises";
import type { Message, Provider } from "awaken";

// A stand-in for a model, so that the page runs without a key. It decides by the conversation so far and remembers nothing.

interface Call {
  readonly name: string;
  readonly input: object;
}

interface Move {
  readonly say: string;
  readonly calls?: readonly Call[];
}

const RETURNS = `You have 60 days to send anything back, worn or not.

Print the label from your account, put it on any box, and hand it to the post. We pay for it. As soon as the parcel is scanned the money is on its way: cards take two days, bank transfers up to four.

Things made to measure are the exception. We repair those for free, for as long as you have them, and when we cannot, we make them again.

If the parcel gets lost, that is our problem and not yours: tell us the number on the label, and we refund it the same day.`;

const HELLO = "Hello! I can find orders, refund them, have billing correct an invoice, and explain how returns work.";

const textOf = ({ content }: Message): string => content.map((part) => (part.type === "text" ? part.text : "")).join("");

function firstMove(asked: string): Move {
  const orders = asked.match(/\d{3,}/g) ?? [];
  if (/billing/i.test(asked)) {
    const prompt = `Correct invoice ${orders[0] ?? "2210"}`;
    return { say: "Billing looks after invoices. I hand this over.", calls: [{ name: "agent_run_billing", input: { prompt } }] };
  }
  if (/correct invoice/i.test(asked)) {
    return { say: "", calls: [{ name: "credit_note", input: { invoice: orders[0] ?? "2210", amount: 45 } }] };
  }
  if (/refund/i.test(asked)) {
    const input = { order: orders[0] ?? "1041", amount: 120, note: "Arrived damaged" };
    return { say: "I am sorry that it arrived damaged. I prepared the refund.", calls: [{ name: "refund", input }] };
  }
  if (/order/i.test(asked)) {
    return { say: "Let me look.", calls: orders.map((order) => ({ name: "track_order", input: { order } })) };
  }
  return { say: /return/i.test(asked) ? RETURNS : HELLO };
}

function describe(message: Extract<Message, { role: "tool" }>): string {
  const text = textOf(message);
  if (message.status !== "success") return text.startsWith("Denied") ? "All right. That was not done." : `That was not done: ${text}`;
  const tracked = /"order":"([^"]*)","status":"([^"]*)"/.exec(text);
  if (tracked !== null) return `Order ${tracked[1]} is ${tracked[2]}.`;
  const refunded = /"order":"([^"]*)","refunded":([\d.]+)/.exec(text);
  if (refunded !== null) return `Done: ${refunded[2]} € for order ${refunded[1]} are on their way back.`;
  const credited = /"invoice":"([^"]*)","credited":([\d.]+)/.exec(text);
  if (credited !== null) return `Invoice ${credited[1]} is corrected by ${credited[2]} €.`;
  return message.toolName === "agent_run_billing" ? "Billing is done: the invoice is corrected." : text;
}

function nextMove(messages: readonly Message[]): Move {
  const at = messages.findLastIndex(({ role, visibility }) => role === "user" && visibility !== "internal");
  const asked = messages[at];
  const results = messages.slice(at + 1).filter((message) => message.role === "tool");
  return results.length > 0 ? { say: results.map(describe).join("\n") } : firstMove(asked === undefined ? "" : textOf(asked));
}

/** What it takes to write the word before which this is awaited. */
export type Pace = (word: string, signal: AbortSignal | undefined) => Promise<void>;

const humanPace: Pace = (_, signal) => sleep(35, undefined, { signal });

export function demoModel(pace: Pace = humanPace): Provider {
  return {
    name: "demo",
    async *stream({ messages }, { signal }) {
      const { say, calls = [] } = nextMove(messages);
      for (const delta of say.split(/(?<=\s)/)) {
        await pace(delta, signal);
        yield { type: "text-delta", delta };
      }
      for (const [index, { name, input }] of calls.entries()) {
        const id = `call-${messages.length}-${index + 1}`;
        yield { type: "tool-call-start", id, name };
        yield { type: "tool-call-delta", id, delta: JSON.stringify(input) };
      }
      yield { type: "usage", usage: { inputTokens: 10, outputTokens: 10, totalTokens: 20 } };
      yield { type: "stop", reason: calls.length === 0 ? "end-turn" : "tool-use" };
    },
  };
}
