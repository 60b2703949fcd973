import { AwakenError, InferenceError, type InferenceRequest, type Provider, type StreamPart } from "@awaken/contract";
import { onAbort } from "../stream/abort.ts";
import { type Clock, systemClock } from "../stream/clock.ts";
import { sleep } from "../stream/sleep.ts";
import type { ScriptedTurn, ScriptItem } from "./script.ts";

/** A turn, or a function that looks at the request first. */
export type ScriptStep = ScriptedTurn | ((request: InferenceRequest) => ScriptedTurn);

export interface ScriptedProvider extends Provider, Disposable {
  /** Every request that came, in order. */
  readonly requests: readonly InferenceRequest[];
  /** Throws unless the script was played exactly: no turn left, no call too many. Also called by `using`. */
  assertDone(): void;
}

export interface ScriptedOptions {
  /** For logs and events. Default `scripted`. */
  readonly name?: string;
  /** What the pauses of the script wait on. Default: the machine's. */
  readonly clock?: Clock;
}

const cancelled = () => new InferenceError({ type: "cancelled", message: "cancelled" });

async function hang(signal: AbortSignal): Promise<never> {
  await new Promise<void>((resolve) => {
    onAbort(signal, resolve);
  });
  throw cancelled();
}

async function* play(items: readonly ScriptItem[], signal: AbortSignal, clock: Clock): AsyncGenerator<StreamPart> {
  for (const item of items) {
    switch (item.type) {
      case "wait":
        if (!(await sleep(clock, item.ms, signal))) throw cancelled();
        break;
      case "until":
        await item.promise;
        break;
      case "throw":
        throw item.error;
      case "hang":
        await hang(signal);
        break;
      default:
        yield item;
    }
  }
}

/** A model that says what the script says, and fails on a call that the script does not have. */
export function scripted(steps: readonly ScriptStep[], options: ScriptedOptions = {}): ScriptedProvider {
  const clock = options.clock ?? systemClock;
  const requests: InferenceRequest[] = [];
  let unexpected = 0;
  const assertDone = () => {
    if (unexpected > 0)
      throw new AwakenError("inference_failed", `the model was called ${unexpected} times more than its script has turns`);
    if (requests.length < steps.length) {
      throw new AwakenError("inference_failed", `${steps.length - requests.length} of ${steps.length} scripted turns were not used`);
    }
  };
  return {
    name: options.name ?? "scripted",
    requests,
    assertDone,
    [Symbol.dispose]: assertDone,
    stream(request, { signal }) {
      const step = steps[requests.length];
      requests.push({ ...request, messages: [...request.messages] });
      if (step === undefined) {
        unexpected += 1;
        throw new AwakenError("inference_failed", `the script has ${steps.length} turns, and the model was called again`);
      }
      const turn = typeof step === "function" ? step(request) : step;
      if (turn.openError !== undefined) throw turn.openError;
      return play(turn.items, signal, clock);
    },
  };
}
