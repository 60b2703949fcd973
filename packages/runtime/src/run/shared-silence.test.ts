import { memoryStore } from "@awaken/stores/memory";
import { expect, test } from "vitest";
import { createRuntime } from "../create-runtime.ts";
import { type Clock, systemClock } from "../stream/clock.ts";

test.each([
  ["with a store", () => memoryStore()],
  ["without one", () => undefined],
])("streams of many runs are watched for silence with as many timers as that of one, %s", async (_, makeStore) => {
  let open = 0;
  const clock: Clock = {
    now: systemClock.now,
    timer(ms, fire) {
      open += 1;
      const stop = systemClock.timer(ms, fire);
      return () => {
        open -= 1;
        stop();
      };
    },
  };
  const end = Promise.withResolvers<void>();
  let asked = 0;
  const store = makeStore();
  const runtime = createRuntime({
    providers: {
      p: {
        name: "p",
        async *stream() {
          asked += 1;
          await end.promise;
          yield { type: "text-delta", delta: "done" };
          yield { type: "stop", reason: "end-turn" };
        },
      },
    },
    models: { m: { provider: "p", model: "x" } },
    agents: { a: { model: "m" } },
    clock,
    workers: false,
    ...(store === undefined ? {} : { store }),
  });
  const begin = async (count: number) => {
    const before = asked;
    const runs = Array.from({ length: count }, () => runtime.run({ input: "go" }));
    await expect.poll(() => asked).toBe(before + count);
    return runs;
  };
  const first = await begin(1);
  const forOne = open;
  const others = await begin(20);
  expect(open).toBe(forOne);
  end.resolve();
  for (const ended of await Promise.all([...first, ...others])) expect(ended.status).toBe("done");
  await runtime.close();
  await store?.close();
});
