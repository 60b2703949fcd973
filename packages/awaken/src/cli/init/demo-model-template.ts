/** `demo-model.ts` of a new project: it decides by the last message alone, so it goes on after a restart. */
export const DEMO_MODEL_TEMPLATE = `import type { Message, Provider } from "awaken";

// A stand-in for a model, so that the project runs without a key. It knows two questions, and what to say about a tool's result.

type Answer = { readonly say: string } | { readonly call: string; readonly input: object };

const textOf = (message: Message): string => message.content.map((part) => (part.type === "text" ? part.text : "")).join("");

function answerTo(text: string): Answer {
  const city = /weather (?:in|for) ([\\p{L} ]+)/iu.exec(text)?.[1]?.trim();
  if (city !== undefined) return { call: "weather", input: { city } };
  const [, orderId, amount] = /refund (?:order )?(\\w+)(?: with | for | of |, )?(\\d+)?/i.exec(text) ?? [];
  if (orderId !== undefined) return { call: "refund", input: { orderId, amount: Number(amount ?? 120) } };
  return { say: "I am a demo model. Ask me: weather in Oslo, or: refund order 7 for 120." };
}

function answer(messages: readonly Message[]): Answer {
  const last = messages.at(-1);
  if (last === undefined) return { say: "Hello." };
  return last.role === "tool" ? { say: "The tool " + last.toolName + " says: " + textOf(last) } : answerTo(textOf(last));
}

export const demoModel: Provider = {
  name: "demo",
  async *stream({ messages }) {
    const next = answer(messages);
    if ("say" in next) {
      for (const word of next.say.split(/(?<= )/)) yield { type: "text-delta", delta: word };
      yield { type: "stop", reason: "end-turn" };
      return;
    }
    const id = "call_" + crypto.randomUUID();
    yield { type: "tool-call-start", id, name: next.call };
    yield { type: "tool-call-delta", id, delta: JSON.stringify(next.input) };
    yield { type: "stop", reason: "tool-use" };
  },
};
`;
