import { type Log, messageText } from "@awaken/contract";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, it } from "vitest";
import { createRuntime } from "../create-runtime.ts";
import { soleNode } from "../testing/fake-clock.ts";
import { stall, text } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";

const silent: Log = { warn() {}, error() {} };
const words = ["one ", "two ", "three ", "four ", "five ", "six ", "seven ", "eight "];

function open(store: ReturnType<typeof memoryStore>, steps: readonly ScriptStep[], streamCheckpoints: boolean) {
  const model = scripted(steps);
  const runtime = createRuntime({
    providers: { main: model },
    models: { fast: { provider: "main", model: "m" } },
    agents: { assistant: { model: "fast" } },
    store,
    streamCheckpoints,
    log: silent,
    node: soleNode(crypto.randomUUID()),
    workers: false,
  });
  return { model, runtime };
}

/** A run that is stuck in mid-stream, as if its process had died there. */
async function stuck(store: ReturnType<typeof memoryStore>, streamCheckpoints: boolean) {
  const { runtime } = open(store, [stall(text(...words), words.length)], streamCheckpoints);
  const run = runtime.stream({ agent: "assistant", thread: "t", input: "count" });
  let deltas = 0;
  for await (const event of run) {
    if (event.type === "text-delta") deltas += 1;
    if (deltas === words.length) break;
  }
  return run.id;
}

describe("stream checkpoints", () => {
  it("inference 28: another process goes on in mid-sentence, and the stored answer has both halves", async () => {
    const store = memoryStore();
    const runId = await stuck(store, true);
    const { model, runtime } = open(store, [text("nine ten")], true);
    const result = await runtime.resume(runId);
    expect(result.text).toBe(`${words.join("")}nine ten`);
    expect(model.requests[0]?.messages.map((message) => message.role)).toEqual(["user", "assistant", "user"]);
    const log = await store.messages.list(result.threadId, {});
    expect(log.items.map(({ message }) => messageText(message))).toEqual(["count", `${words.join("")}nine ten`]);
    expect((await store.stats()).streamCheckpoints).toBe(0);
    model.assertDone();
  });

  it("are off unless they are asked for: the answer starts over", async () => {
    const store = memoryStore();
    const runId = await stuck(store, false);
    expect((await store.stats()).streamCheckpoints).toBe(0);
    const { model, runtime } = open(store, [text("all of it")], false);
    expect((await runtime.resume(runId)).text).toBe("all of it");
    expect(model.requests[0]?.messages).toHaveLength(1);
  });
});
