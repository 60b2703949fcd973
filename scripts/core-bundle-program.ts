import { InferenceError } from "@awaken/contract";
import { createRuntime as createCore } from "@awaken/runtime";
import { ask, createRuntime, defineTool, memoryStore, type Provider } from "awaken";
import * as z from "zod";

// What core-bundle.test.ts plays where there is no Node: tools in parallel, an approval, a resume.

const weather = defineTool({
  id: "weather",
  description: "Current weather for a city",
  input: z.object({ city: z.string() }),
  execute: ({ city }) => `${city}: 21`,
});

const book = defineTool({
  id: "book",
  description: "Book a seat",
  input: z.object({ seats: z.number() }),
  approve: () => ask("Book?"),
  execute: ({ seats }) => `booked ${seats}`,
});

const model: Provider = {
  name: "page",
  async *stream({ messages }) {
    const results = messages.filter(({ role }) => role === "tool").length;
    const call = (id: string, name: string, input: object) => [
      { type: "tool-call-start", id, name } as const,
      { type: "tool-call-delta", id, delta: JSON.stringify(input) } as const,
    ];
    if (results === 0) {
      yield* call("1", "weather", { city: "Oslo" });
      yield* call("2", "weather", { city: "Rome" });
    } else if (results === 2) yield* call("3", "book", { seats: 1 });
    else yield { type: "text-delta", delta: "Enjoy the trip." };
    yield { type: "stop", reason: results < 3 ? "tool-use" : "end-turn" };
  },
};

const seat = defineTool({
  id: "book",
  description: "Book a seat that nobody is asked about",
  input: z.object({ seats: z.number() }),
  execute: ({ seats }) => `booked ${seats}`,
});

/** One agent with two tools and without a store, to the end, and once more on the same thread. */
export async function playPlain() {
  const runtime = createCore({
    providers: { page: model },
    models: { fast: { provider: "page", model: "page-1" } },
    agents: { assistant: { model: "fast", instructions: "Be brief." } },
    tools: [weather, seat],
  });
  const first = await runtime.run({ agent: "assistant", thread: "trip", input: "Book me a trip." });
  const second = await runtime.run({ agent: "assistant", thread: "trip", input: "Thanks." });
  return [first, second].map(({ status, steps }) => ({ status, steps }));
}

/** The statuses before and after the decision, the last text, and what the tools gave. */
export async function play() {
  const runtime = createRuntime({
    providers: { page: model },
    models: { fast: { provider: "page", model: "page-1" } },
    agents: { assistant: { model: "fast", instructions: "Be brief." } },
    tools: [weather, book],
  });
  const outputs: string[] = [];
  const run = runtime.stream({ agent: "assistant", thread: "trip", input: "Book me a trip." });
  for await (const event of run) if (event.type === "tool-call-end") outputs.push(`${event.toolName} ${event.outcome}`);
  const first = await run.result;
  const tickets = first.status === "waiting" ? first.tickets : [];
  await runtime.decide(tickets[0]?.id ?? "", { action: "approve", input: { seats: 2 } });
  const last = await runtime.wait(first.runId);
  return { outputs, statuses: [first.status, last.status], text: last.text };
}

/** Refuses the first request, and breaks off in the middle of the second. */
function flaky(): Provider {
  let asked = 0;
  const busy = () => new InferenceError({ type: "rate-limited", message: "come back" });
  return {
    name: "page",
    async *stream(request, options) {
      asked += 1;
      if (asked === 1) throw busy();
      if (asked === 2) yield { type: "text-delta", delta: "I look it " };
      if (asked === 2) throw busy();
      yield* await model.stream(request, options);
    },
  };
}

/** A process that stays, and what is asked of it later: a run from the queue whose model fails, which is followed, waits for a decision and goes on. */
export function stay(workers: boolean) {
  const runtime = createCore({
    providers: { page: flaky() },
    models: { fast: { provider: "page", model: "page-1" } },
    agents: { assistant: { model: "fast", instructions: "Be brief.", sections: { retry: { backoffBaseMs: 1 } } } },
    tools: [weather, book],
    store: memoryStore(),
    workers,
  });
  const play = async () => {
    const { runId } = await runtime.start({ agent: "assistant", thread: "trip", input: "Book me a trip." });
    let followed = "";
    for await (const event of runtime.attach(runId)) {
      followed = event.type;
      if (followed === "ticket-open") break;
    }
    const first = await runtime.wait(runId);
    const tickets = first.status === "waiting" ? first.tickets : [];
    await runtime.decide(tickets[0]?.id ?? "", { action: "approve", input: { seats: 2 } });
    const last = await runtime.wait(runId);
    await runtime.close();
    return { statuses: [first.status, last.status], text: last.text, followed };
  };
  return { runtime, play };
}
