import { setTimeout as sleep } from "node:timers/promises";
import type { Message, Provider } from "awaken";

// A stand-in for a model, so that the chat runs without a key. It decides by the conversation so far and remembers nothing,
// so it goes on where it was after a restart.

interface Call {
  readonly name: string;
  readonly input: object;
}

type Move = { readonly say: string } | { readonly call: readonly Call[]; readonly say: string };

type ToolMessage = Extract<Message, { role: "tool" }>;

const HELLO = `Hello! I am a **demo model**: I need no key, and I know a few things. Type:

- \`weather in Oslo and Rome\`: two tools at once, with progress
- \`refund order 7\`: a call that you have to approve, edit or deny
- \`write a report\`: a slow tool; Ctrl-C cancels it
- \`/agent planner\`, then \`plan a picnic\`: an answer that is data
- \`/help\`: everything else

With OPENAI_API_KEY, ANTHROPIC_API_KEY or GOOGLE_GENERATIVE_AI_API_KEY a real model answers instead.`;

const textOf = ({ content }: Message): string => content.map((part) => (part.type === "text" ? part.text : "")).join("");

/** The last thing that the person said, and what tools gave since. */
function latest(messages: readonly Message[]): { readonly asked: string; readonly results: readonly ToolMessage[] } {
  const at = messages.findLastIndex(({ role }) => role === "user");
  const asked = messages[at];
  const results = messages.slice(at + 1).filter((message) => message.role === "tool");
  return { asked: asked === undefined ? "" : textOf(asked), results };
}

function cities(asked: string): readonly string[] {
  const named = /weather (?:in|for|of) ([^?.!]+)/i.exec(asked)?.[1] ?? "Oslo and Rome";
  return named
    .split(/,| and | or /i)
    .map((city) => city.trim())
    .filter((city) => city !== "");
}

function firstMove(asked: string): Move {
  if (/weather/i.test(asked)) {
    return { say: "Let me look.", call: cities(asked).map((city) => ({ name: "weather", input: { city } })) };
  }
  const [, orderId, amount] = /refund(?: order)? #?(\w+)(?:\D+(\d+))?/i.exec(asked) ?? [];
  if (orderId !== undefined) return { say: "", call: [{ name: "refund", input: { orderId, amount: Number(amount ?? 120) } }] };
  if (/report|slow/i.test(asked)) return { say: "This takes a while.", call: [{ name: "report", input: { pages: 20 } }] };
  if (/^\s*(hi|hello|hey|help|what can you do)/i.test(asked)) return { say: HELLO };
  return { say: `You said: *${asked.slice(0, 200)}*. A real model would know more about it; say \`hello\` to see what I can do.` };
}

function describeResult(message: ToolMessage): string {
  const text = textOf(message);
  if (message.status !== "success") return `- ${message.toolName} did not work: ${text}`;
  const weather = /"city":"([^"]*)","sky":"([^"]*)","tempC":(-?\d+)/.exec(text);
  if (weather !== null) return `- **${weather[1]}**: ${weather[3]} degrees, ${weather[2]}`;
  const refund = /"orderId":"([^"]*)","refunded":([\d.]+)/.exec(text);
  return refund === null ? `- ${text}` : `- ${refund[2]} are on their way back for order ${refund[1]}`;
}

function nextMove(messages: readonly Message[]): Move {
  const { asked, results } = latest(messages);
  return results.length === 0 ? firstMove(asked) : { say: `Here it is:\n\n${results.map(describeResult).join("\n")}` };
}

function plan(messages: readonly Message[]): string {
  const { asked } = latest(messages);
  const goal = asked.replace(/^\s*plan\s+/i, "").trim() || "a day off";
  return JSON.stringify({
    goal,
    steps: ["decide who comes", `prepare ${goal}`, "enjoy it"].map((task, index) => ({ task, day: index + 1 })),
  });
}

/** `pauseMs` is what it takes to write a word. */
export function demoModel({ pauseMs = 20 } = {}): Provider {
  return {
    name: "demo",
    async *stream({ messages, responseFormat }, { signal }) {
      const move: Move = responseFormat === undefined ? nextMove(messages) : { say: plan(messages) };
      for (const delta of move.say.split(/(?<=\s)/)) {
        await sleep(pauseMs, undefined, { signal });
        yield { type: "text-delta", delta };
      }
      const calls = "call" in move ? move.call : [];
      for (const [index, { name, input }] of calls.entries()) {
        const id = `call-${messages.length}-${index + 1}`;
        yield { type: "tool-call-start", id, name };
        yield { type: "tool-call-delta", id, delta: JSON.stringify(input) };
      }
      const inputTokens = messages.reduce((sum, message) => sum + Math.ceil(textOf(message).length / 4), 0);
      const outputTokens = Math.ceil(move.say.length / 4) + calls.length * 10;
      yield { type: "usage", usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens } };
      yield { type: "stop", reason: calls.length === 0 ? "end-turn" : "tool-use" };
    },
  };
}
