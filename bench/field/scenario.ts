/** The conversation that every runtime plays: some tool steps, then a text in many deltas. One object serves any number of runs. */
export interface Scenario {
  readonly steps: number;
  readonly calls: number;
  readonly chunks: number;
  readonly text: string;
  /** What the model waits for before its reply to a prompt with so many tool results since the last user message. */
  gate: (results: number) => Promise<void> | undefined;
  /** Items of the last prompt: shows that the history of a thread reaches the model. */
  promptItems: number;
  /** A model says here what it was given, and waits for what it gets back, if there is anything. */
  enter(promptItems: number, results: number): Promise<void> | undefined;
  /** Depends on the prompt alone, so a runtime that loses a result cannot finish. */
  reply(results: number): Reply;
}

export type Reply =
  | { readonly type: "text"; readonly deltas: readonly string[] }
  | { readonly type: "calls"; readonly calls: readonly Call[] };

export interface Call {
  readonly id: string;
  readonly name: string;
  readonly input: EchoInput;
}

export interface EchoInput {
  readonly text: string;
  readonly n: number;
}

/** `deltas` only where the runtime was asked to stream. */
export interface Played {
  readonly text: string;
  readonly deltas?: number;
}

export interface Thread {
  turn(input: string): Promise<Played>;
  /** Puts copies of the first turn into the history, where growing it turn by turn would take minutes. */
  seed?(turns: number): Promise<void> | void;
  /** What is stored now. */
  bytes?(): Promise<number> | number;
  close?(): Promise<void> | void;
}

/** One way to drive one runtime. */
export interface Subject {
  /** Plays the scenario once from a fresh conversation, and reads every event. */
  startRun(scenario: Scenario): () => Promise<Played>;
  startThread?(scenario: Scenario): Thread;
  /** Drops what finished runs left behind; never called during a run. */
  prune?(): void;
}

export interface Adapter {
  open(variant: string): Subject | Promise<Subject>;
}

export const USER = "Please echo the numbers one after the other, then say in a few words what you have seen on the way.";
export const INSTRUCTIONS = "You are a helpful assistant. Use the echo tool when asked.";
export const TOOL = { name: "echo", description: "Echo the given text back." };

const CHUNK = "word word ";
let calls = 0;
let echoes = 0;

export function echo({ text, n }: EchoInput): string {
  echoes += 1;
  return `${text}:${n}`;
}

export function createScenario(steps: number, callsPerStep: number, chunks: number): Scenario {
  const deltas = Array.from({ length: chunks }, () => CHUNK);
  return {
    steps,
    calls: callsPerStep,
    chunks,
    text: deltas.join(""),
    gate: () => undefined,
    promptItems: 0,
    enter(promptItems, results) {
      this.promptItems = promptItems;
      return this.gate(results);
    },
    reply(results) {
      const step = Math.floor(results / callsPerStep);
      if (step >= steps) return { type: "text", deltas };
      const next = (_: unknown, index: number): Call => {
        calls += 1;
        return { id: `call_${calls}`, name: TOOL.name, input: { text: "hello", n: step * callsPerStep + index } };
      };
      return { type: "calls", calls: Array.from({ length: callsPerStep }, next) };
    },
  };
}

/** Plays `count` runs at once and refuses whatever differs from the script. */
export async function playChecked(scenario: Scenario, count: number, play: () => Promise<Played>): Promise<void> {
  const before = echoes;
  const played = await Promise.all(Array.from({ length: count }, play));
  for (const { text, deltas = scenario.chunks } of played) {
    if (text !== scenario.text) throw new Error(`wrong text: ${text.length} characters, expected ${scenario.text.length}`);
    if (deltas !== scenario.chunks) throw new Error(`${deltas} deltas, expected ${scenario.chunks}`);
  }
  const expected = count * scenario.steps * scenario.calls;
  if (echoes - before !== expected) throw new Error(`${echoes - before} tool runs, expected ${expected}`);
}
