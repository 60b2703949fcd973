import { echo, type Play, replyTo, type Scenario, USER } from "./scenario.ts";

// The floor: a loop written by hand that streams, checks input, runs calls in parallel and has no other feature.

type Message =
  | { readonly role: "user"; readonly text: string }
  | { readonly role: "assistant"; readonly text: string; readonly calls: readonly Call[] }
  | { readonly role: "tool"; readonly id: string; readonly output: string };
interface Call {
  readonly type: "call";
  readonly id: string;
  readonly args: string;
}
type Part = { readonly type: "text"; readonly delta: string } | Call;

function countResults(messages: readonly Message[]): number {
  let results = 0;
  for (let index = messages.length - 1; messages[index]?.role !== "user"; index--) if (messages[index]?.role === "tool") results++;
  return results;
}

async function* model(scenario: Scenario, messages: readonly Message[]): AsyncGenerator<Part> {
  const results = countResults(messages);
  const gate = scenario.gate(results);
  if (gate !== undefined) await gate;
  const reply = replyTo(scenario, results);
  if (reply.type === "text") for (const delta of reply.deltas) yield { type: "text", delta };
  else for (const { id, args } of reply.calls) yield { type: "call", id, args };
}

function isInput(value: unknown): value is { text: string; n: number } {
  if (typeof value !== "object" || value === null || !("text" in value) || !("n" in value)) return false;
  return typeof value.text === "string" && typeof value.n === "number" && Object.keys(value).length === 2;
}

async function runTool(call: Call): Promise<Message> {
  const input: unknown = JSON.parse(call.args);
  if (!isInput(input)) throw new TypeError("bad arguments");
  return { role: "tool", id: call.id, output: await Promise.resolve(echo(input.text, input.n)) };
}

async function* loop(scenario: Scenario, messages: Message[]): AsyncGenerator<Part | Message> {
  for (;;) {
    let text = "";
    const calls: Call[] = [];
    for await (const part of model(scenario, messages)) {
      if (part.type === "text") text += part.delta;
      else calls.push(part);
      yield part;
    }
    messages.push({ role: "assistant", text, calls });
    if (calls.length === 0) return;
    for (const result of await Promise.all(calls.map(runTool))) {
      messages.push(result);
      yield result;
    }
  }
}

export function playBare(scenario: Scenario): Play {
  return async () => {
    let text = "";
    let deltas = 0;
    for await (const part of loop(scenario, [{ role: "user", text: USER }])) {
      if (!("type" in part) || part.type !== "text") continue;
      text += part.delta;
      deltas += 1;
    }
    return { text, deltas };
  };
}
