import type { AgentEvent } from "@awaken/contract";
import { createRuntime, type RuntimeInit } from "@awaken/runtime";
import { scripted } from "@awaken/runtime/testing";
import { memoryStore } from "@awaken/stores/memory";
import { startAgent, type TestAgent } from "./a2a.test-support.ts";
import { type A2aOptions, a2a } from "./index.ts";

interface Open {
  /** Beside the address. */
  readonly endpoint?: object;
  readonly options?: A2aOptions;
  readonly init?: Partial<RuntimeInit>;
  readonly turns?: Parameters<typeof scripted>[0];
}

/** Agents and runtimes of one test, which end with it. */
export class Harness {
  readonly #opened: { close(): Promise<void> }[] = [];

  async agent(init: Parameters<typeof startAgent>[0]): Promise<TestAgent> {
    const started = await startAgent(init);
    this.#opened.push(started);
    return started;
  }

  open(url: string, { endpoint = {}, options = {}, init = {}, turns = [] }: Open = {}) {
    const model = scripted(turns);
    const logged: unknown[] = [];
    const store = memoryStore();
    const runtime = createRuntime({
      providers: { main: model },
      models: { fast: { provider: "main", model: "m" } },
      agents: {
        far: { description: "Knows the law", remote: { a2a: url, ...endpoint } },
        lead: { model: "fast", delegates: ["far"] },
      },
      backends: [a2a({ allow: ["loopback"], ...options })],
      store,
      log: { warn: (...line) => logged.push(line), error: (...line) => logged.push(line) },
      ...init,
    });
    this.#opened.push(runtime);
    return { runtime, model, logged, store };
  }

  async close(): Promise<void> {
    for (const each of this.#opened.splice(0).reverse()) await each.close();
  }
}

export async function collect(stream: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** Until it is so. What never becomes so is ended by the limit of the test. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 2));
}
