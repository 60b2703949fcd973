import { type Call, type EchoInput, echo, type Played, type Scenario, type Subject, USER } from "../scenario.ts";

// The floor: a loop written by hand that streams, checks input, runs calls in parallel, and has no other feature.

type Message =
  | { readonly role: "user"; readonly text: string }
  | { readonly role: "assistant"; readonly text: string; readonly calls: readonly CallPart[] }
  | { readonly role: "tool"; readonly id: string; readonly output: string };
interface CallPart {
  readonly type: "call";
  readonly id: string;
  readonly args: string;
}
type Part = { readonly type: "text"; readonly delta: string } | CallPart;

function countResults(messages: readonly Message[]): number {
  let results = 0;
  for (let index = messages.length - 1; messages[index]?.role !== "user"; index--) if (messages[index]?.role === "tool") results++;
  return results;
}

const toPart = ({ id, input }: Call): CallPart => ({ type: "call", id, args: JSON.stringify(input) });

async function* model(scenario: Scenario, messages: readonly Message[]): AsyncGenerator<Part> {
  const results = countResults(messages);
  const wait = scenario.enter(messages.length, results);
  if (wait !== undefined) await wait;
  const reply = scenario.reply(results);
  if (reply.type === "text") for (const delta of reply.deltas) yield { type: "text", delta };
  else for (const call of reply.calls) yield toPart(call);
}

function isInput(value: unknown): value is EchoInput {
  if (typeof value !== "object" || value === null || !("text" in value) || !("n" in value)) return false;
  return typeof value.text === "string" && typeof value.n === "number" && Object.keys(value).length === 2;
}

async function runTool({ id, args }: CallPart): Promise<Message> {
  const input: unknown = JSON.parse(args);
  if (!isInput(input)) throw new TypeError("bad arguments");
  return { role: "tool", id, output: await Promise.resolve(echo(input)) };
}

async function* loop(scenario: Scenario, messages: Message[]): AsyncGenerator<Part | Message> {
  for (;;) {
    let text = "";
    const calls: CallPart[] = [];
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

async function play(scenario: Scenario, messages: Message[]): Promise<Played> {
  let text = "";
  let deltas = 0;
  for await (const part of loop(scenario, messages)) {
    if (!("type" in part) || part.type !== "text") continue;
    text += part.delta;
    deltas += 1;
  }
  return { text, deltas };
}

export function open(): Subject {
  return {
    startRun: (scenario) => () => play(scenario, [{ role: "user", text: USER }]),
    // Appends what is new in a turn, as JSON.
    startThread(scenario) {
      const messages: Message[] = [];
      const log: string[] = [];
      let bytes = 0;
      return {
        async turn(text) {
          messages.push({ role: "user", text });
          const played = await play(scenario, messages);
          for (const message of messages.slice(log.length)) bytes += log[log.push(JSON.stringify(message)) - 1]?.length ?? 0;
          return played;
        },
        bytes: () => bytes,
      };
    },
  };
}
