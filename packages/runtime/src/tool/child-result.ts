import type { BackendOutput, DelegatePersistence, JsonObject, PersistedState, RunId, Suspension, Usage } from "@awaken/contract";

/** What tool code asks of another agent. */
export interface ChildRequest {
  /** Its id in the registry. */
  readonly agent: string;
  /** What it is asked. It sees nothing else of the conversation. */
  readonly input: string;
  /** Values for its state keys, by their names; one that it does not have fails it before it begins. */
  readonly state?: JsonObject;
  /** `durable`: a run with records of its own, which can wait and outlive the process. Default: that, where there is a store with a queue; else `ephemeral`. */
  readonly policy?: DelegatePersistence;
  /**
   * What it says is output of the call while it says it, and `streamed` of the result. How it fails, if it does, is shown in brackets, or
   * dropped. Default false: its words are heard by following it.
   */
  readonly stream?:
    | boolean
    | {
        /** What is shown of its failure. Default `show`. */
        readonly errors?: "show" | "drop";
      };
  /** Throws `child_not_completed` unless it comes to its end. Default false: whatever became of it is a result. */
  readonly mustComplete?: boolean;
}

interface ChildFacts {
  /** The agent that was asked. */
  readonly agentId: string;
  /** Its run, where it has one. */
  readonly runId?: RunId;
  /** What became of it, in words: `completed`, `failed: no such file`. */
  readonly label: string;
  /** Its final answer; empty when there is none. */
  readonly text: string;
  /** All that it said while it ran here; absent unless `stream` was asked for. */
  readonly streamed?: string;
  /** The final answer with what came beside the text. */
  readonly output: BackendOutput;
  /** How many inferences it took, with their tool calls. */
  readonly steps: number;
  /** Tokens of it and of what it started, as far as they are known. */
  readonly usage?: Usage;
  /** Its keys that persist, as it left them. */
  readonly state?: PersistedState;
  /** Those of its thread. */
  readonly threadState?: PersistedState;
}

/** What became of a child, told apart by `status`. It is JSON: a call that waits for a child has it as the decision that it is resumed with. */
export type ChildResult =
  | (ChildFacts & {
      /** It came to its end, or was stopped. */
      readonly status: "done" | "cancelled" | "timeout";
    })
  | (ChildFacts & {
      /** It could not do what it was asked. */
      readonly status: "failed";
      /** Why. */
      readonly error: string;
    })
  | (ChildFacts & {
      /** It is not over: somebody has to decide something first. */
      readonly status: "waiting";
      /** Return `wait(result.suspension)`: the call goes on when the child has come to its end. */
      readonly suspension: Omit<Suspension, "id" | "expiresAt">;
    });

/** Starts a child of the call, or finds the one that an earlier attempt started, and waits for it. */
export type RunAgent = (request: ChildRequest) => Promise<ChildResult>;
