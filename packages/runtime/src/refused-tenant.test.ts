import { memoryStore } from "@awaken/stores/memory";
import { expect, test } from "vitest";
import { createRuntime } from "./create-runtime.ts";
import { text } from "./testing/script.ts";
import { scripted } from "./testing/scripted.ts";

test("what a store has against a tenant is said to whoever asks for him, and costs nobody else a run", async () => {
  await using own = memoryStore();
  const store: typeof own = {
    ...own,
    scoped(id) {
      if (id === "nobody") throw new Error("no such tenant");
      return own.scoped(id);
    },
  };
  await using runtime = createRuntime({
    providers: { p: scripted([text("a"), text("b")]) },
    models: { m: { provider: "p", model: "x" } },
    agents: { a: { model: "m" } },
    store,
    workers: false,
  });
  expect(() => runtime.scoped("nobody")).toThrow("no such tenant");
  const runs = [runtime.run({ input: "go" }), runtime.scoped("somebody").run({ input: "go" })];
  for (const ended of await Promise.all(runs)) expect(ended.status).toBe("done");
});
