import type { QueueStore } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { expect, test } from "vitest";
import { createRuntime } from "../create-runtime.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import { parts } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";

// What the owner of a run tells other nodes of an answer: 10,000 words, one in 10 ms.

const WORDS = 10_000;
const WORD_MS = 10;

function answering() {
  const clock = fakeClock();
  const store = memoryStore();
  const sent: string[] = [];
  const live: QueueStore["live"] = store.live && {
    ...store.live,
    send: (parcel) => {
      sent.push(JSON.stringify(parcel.body));
      store.live?.send(parcel);
    },
  };
  const said = Array.from({ length: WORDS }, (_, nth) => `${nth} `);
  const words = said.flatMap((delta) => [{ type: "wait", ms: WORD_MS } as const, { type: "text-delta", delta } as const]);
  const turn = parts(...words, { type: "stop", reason: "end-turn" });
  const models = { models: { fast: { provider: "scripted", model: "m" } }, agents: { default: { model: "fast" } }, workers: false };
  const owner = createRuntime({
    ...models,
    clock,
    store: { ...store, ...(live && { live }) },
    providers: { scripted: scripted([turn], { clock }) },
  });
  const reader = createRuntime({ ...models, clock, store, providers: { scripted: scripted([]) } });
  return { clock, store, sent, owner, reader, said: said.join("") };
}

const until = async (clock: ReturnType<typeof fakeClock>, isSo: () => boolean) => {
  while (!isSo()) await clock.advance(WORD_MS);
};

test("nothing while nobody asks; what is said in 50 ms together while somebody reads; nothing 30 s after he last asked", async () => {
  const { clock, store, sent, owner, reader, said } = answering();
  await using _store = store;
  const run = owner.stream({ thread: "t", input: "go" });
  let isOver = false;
  void run.result.then(() => {
    isOver = true;
  });
  await clock.advance(2_000);
  expect(sent).toEqual([]);

  const leave = new AbortController();
  let heard = "";
  const reading = (async () => {
    for await (const event of reader.attach(run.id, { signal: leave.signal })) {
      if (event.type === "step-start") heard = "";
      if (event.type === "text-delta") heard += event.delta;
    }
  })();
  await until(clock, () => heard.length > 0);
  // What was said before he came is there, too.
  expect(said.startsWith(heard)).toBe(true);
  expect(heard.length).toBeGreaterThan("0 1 2 3 ".length);
  const before = sent.length;
  await clock.advance(1_000);
  expect(sent.length - before).toBeGreaterThan(10);
  expect(sent.length - before).toBeLessThanOrEqual(20);
  expect(said.startsWith(heard)).toBe(true);

  // As long as he stays he asks again before it is over.
  await clock.advance(35_000);
  const still = sent.length;
  await clock.advance(1_000);
  expect(sent.length - still).toBeGreaterThan(10);

  leave.abort();
  await reading;
  await clock.advance(30_000 - 15 * WORD_MS);
  await clock.advance(300);
  const last = sent.length;
  // Nobody asks: nothing more is told of what is left of the answer.
  await clock.advance(5_000);
  expect(isOver).toBe(false);
  expect(sent).toHaveLength(last);
  await owner.cancel(run.id);
  await clock.advance(1_000);
  await run.result;
  await owner.close();
  await reader.close();
});
