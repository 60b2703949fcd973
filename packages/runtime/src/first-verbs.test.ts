import { afterEach, expect, test, vi } from "vitest";

// Parts of the runtime are loaded when they are first needed: in a fresh process, whoever calls may change what he handed in before they are there.

afterEach(() => vi.resetModules());

async function fresh() {
  vi.resetModules();
  const { createRuntime } = await import("./create-runtime.ts");
  const { memoryStore } = await import("@awaken/stores/memory");
  const { scripted } = await import("./testing/scripted.ts");
  const { text } = await import("./testing/script.ts");
  const store = memoryStore();
  const runtime = createRuntime({
    providers: { scripted: scripted([text("one"), text("two")]) },
    models: { fast: { provider: "scripted", model: "m" } },
    agents: { first: { model: "fast" } },
    log: { warn() {}, error() {} },
    store,
    workers: false,
  });
  return { runtime, store };
}

const message = (content: string) => ({ role: "user" as const, content });
const check = (value: unknown): { value: unknown } => ({ value });
/** A schema is code: it is not copied, and what stands beside it is. */
const schema = {
  "~standard": { version: 1, vendor: "test", validate: check, jsonSchema: { input: () => ({}), output: () => ({}) } },
} as const;

test("a start is read as it was when it was called", async () => {
  const { runtime } = await fresh();
  const input = [message("said")];
  const starting = runtime.start({ thread: "t", input, output: schema });
  input[0] = message("vandalised");
  const { threadId } = await starting;
  expect(JSON.stringify(await runtime.pending.list(threadId))).toContain("said");
  await runtime.close();
});

test("a message that is sent is read as it was when it was called", async () => {
  const { runtime } = await fresh();
  const input = [message("said")];
  const sending = runtime.send("t", input, { mode: "queue" });
  input[0] = message("vandalised");
  await sending;
  expect(JSON.stringify(await runtime.pending.list("t"))).toContain("said");
  await runtime.close();
});

test("a run has what was registered when it was called, and not what came until its parts were loaded", async () => {
  const { runtime } = await fresh();
  const running = runtime.run({ thread: "t", input: "x" });
  runtime.registry.update((draft) => {
    draft.agents["second"] = { model: "fast" };
    delete draft.agents["first"];
  });
  expect(await running).toMatchObject({ status: "done", text: "one" });
  await runtime.close();
});
