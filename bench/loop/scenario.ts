/** The conversation that every variant plays: some tool steps, then a text in many deltas. */
export interface Scenario {
  readonly steps: number;
  readonly calls: number;
  readonly chunks: number;
  readonly text: string;
  /** What the model waits for before its reply to a prompt with `results` tool results; undefined: nothing. */
  gate: (results: number) => Promise<void> | undefined;
}

export type ScriptReply =
  | { readonly type: "text"; readonly deltas: readonly string[] }
  | { readonly type: "calls"; readonly calls: readonly { readonly id: string; readonly args: string }[] };

export const USER = "Please echo the numbers one after the other, then say in a few words what you have seen on the way.";
export const INSTRUCTIONS = "You are a helpful assistant. Use the echo tool when asked.";

const CHUNK = "word word ";
let calls = 0;

export function createScenario(steps: number, callsPerStep: number, chunks: number): Scenario {
  return { steps, calls: callsPerStep, chunks, text: CHUNK.repeat(chunks), gate: () => undefined };
}

/** Depends on the prompt alone, so a runtime that loses a result cannot finish. */
export function replyTo(scenario: Scenario, results: number): ScriptReply {
  const step = Math.floor(results / scenario.calls);
  if (step >= scenario.steps) return { type: "text", deltas: Array.from({ length: scenario.chunks }, () => CHUNK) };
  return {
    type: "calls",
    calls: Array.from({ length: scenario.calls }, (_, index) => {
      calls += 1;
      return { id: `call_${calls}`, args: `{"text":"hello","n":${step * scenario.calls + index}}` };
    }),
  };
}

export const tools = { runs: 0 };

export function echo(text: string, n: number): string {
  tools.runs += 1;
  return `${text}:${n}`;
}

export interface Played {
  readonly text: string;
  readonly deltas: number;
}

/** One way to play the scenario once, from a fresh conversation. */
export type Play = () => Promise<Played>;

export async function verify(scenario: Scenario, play: Play): Promise<void> {
  const before = tools.runs;
  const { text, deltas } = await play();
  if (text !== scenario.text) throw new Error(`wrong text: ${text.length} characters, expected ${scenario.text.length}`);
  if (deltas !== scenario.chunks) throw new Error(`${deltas} deltas, expected ${scenario.chunks}`);
  const ran = tools.runs - before;
  if (ran !== scenario.steps * scenario.calls) throw new Error(`${ran} tool runs, expected ${scenario.steps * scenario.calls}`);
}
