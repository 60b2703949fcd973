import { addUsage, NO_USAGE, type Usage } from "@awaken/contract";
import type { RunEvent } from "./events.ts";

/** What the whole of a run comes to. */
export class RunTally {
  #usage: Usage = NO_USAGE;
  #costUsd: number | undefined;
  #inferences = 0;
  #tools = 0;
  #toolFailures = 0;

  addInference(usage: Usage, costUsd: number | undefined): void {
    this.#inferences += 1;
    this.#usage = addUsage(this.#usage, usage);
    if (costUsd !== undefined) this.#costUsd = (this.#costUsd ?? 0) + costUsd;
  }

  addTool(isFailed: boolean): void {
    this.#tools += 1;
    if (isFailed) this.#toolFailures += 1;
  }

  get facts(): Pick<RunEvent, "inferences" | "tools" | "toolFailures" | "usage" | "costUsd"> {
    return {
      inferences: this.#inferences,
      tools: this.#tools,
      toolFailures: this.#toolFailures,
      usage: this.#usage,
      ...(this.#costUsd === undefined ? undefined : { costUsd: this.#costUsd }),
    };
  }
}
