import { InferenceError, type InferenceFailureType, type JsonValue, type StopReason, type StreamPart, type Usage } from "@awaken/contract";

/** One thing that a scripted stream does: say a part, wait, break, or fall silent until it is aborted. */
export type ScriptItem =
  | StreamPart
  | {
      readonly type: "wait";
      /** How long the stream pauses, by the clock of the script. */
      readonly ms: number;
    }
  | {
      readonly type: "until";
      /** The stream goes on when it is settled. */
      readonly promise: Promise<unknown>;
    }
  | {
      readonly type: "throw";
      /** Thrown while the stream is read. */
      readonly error: unknown;
    }
  | { readonly type: "hang" };

export interface ScriptedTurn {
  /** Thrown instead of opening the stream. */
  readonly openError?: unknown;
  /** What the stream does, in order. */
  readonly items: readonly ScriptItem[];
}

export const SCRIPTED_USAGE: Usage = Object.freeze({ inputTokens: 10, outputTokens: 5, totalTokens: 15 });

const END: readonly ScriptItem[] = [{ type: "usage", usage: SCRIPTED_USAGE }];

const ended = (items: readonly ScriptItem[], reason: StopReason): ScriptedTurn => ({ items: [...items, ...END, { type: "stop", reason }] });

/** A plain answer, in one delta or in the given ones. */
export function text(...deltas: readonly string[]): ScriptedTurn {
  return ended(
    deltas.map((delta) => ({ type: "text-delta", delta })),
    "end-turn",
  );
}

export interface ScriptedCall {
  /** The id of the tool. */
  readonly name: string;
  /** What the model would write. */
  readonly input: JsonValue;
  /** Default: one of its own. */
  readonly id?: string;
}

let calls = 0;

function callItems({ name, input, id }: ScriptedCall): ScriptItem[] {
  calls += 1;
  const callId = id ?? `call-${calls}`;
  return [
    { type: "tool-call-start", id: callId, name },
    { type: "tool-call-delta", id: callId, delta: JSON.stringify(input) },
  ];
}

/** One call of a tool. */
export function toolCall(
  name: string,
  input: JsonValue,
  more: {
    /** Default: one of its own. */
    readonly id?: string;
    /** Text before the call. */
    readonly say?: string;
  } = {},
): ScriptedTurn {
  return toolCalls([{ name, input, ...(more.id === undefined ? {} : { id: more.id }) }], more);
}

/** Several calls in one turn. */
export function toolCalls(
  list: readonly ScriptedCall[],
  more: {
    /** Text before the calls. */
    readonly say?: string;
  } = {},
): ScriptedTurn {
  const said: ScriptItem[] = more.say === undefined ? [] : [{ type: "text-delta", delta: more.say }];
  return ended([...said, ...list.flatMap(callItems)], "tool-use");
}

/** Exactly these items: `stop` and `usage` too, if they are wanted. */
export function parts(...items: readonly ScriptItem[]): ScriptedTurn {
  return { items };
}

/** The turn, with a wait before each of its items. */
export function slow(turn: ScriptedTurn, ms: number): ScriptedTurn {
  return { ...turn, items: turn.items.flatMap((item): ScriptItem[] => [{ type: "wait", ms }, item]) };
}

/** The turn, broken off after its first `count` items. */
export function cut(turn: ScriptedTurn, count: number, error: unknown = new Error("connection reset")): ScriptedTurn {
  return { ...turn, items: [...turn.items.slice(0, count), { type: "throw", error }] };
}

/** The turn, silent after its first `count` items. */
export function stall(turn: ScriptedTurn, count: number): ScriptedTurn {
  return { ...turn, items: [...turn.items.slice(0, count), { type: "hang" }] };
}

/** A request that fails before anything is streamed. */
export function failure(type: InferenceFailureType, message = `scripted ${type}`, retryAfterMs?: number): ScriptedTurn {
  const error = new InferenceError({ type, message, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
  return { openError: error, items: [] };
}
