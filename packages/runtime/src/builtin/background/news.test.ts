import type { QueueStore, ThreadCommit } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { sqliteStore } from "@awaken/stores/sqlite";
import { describe, expect, test } from "vitest";
import { definePlugin } from "../../plugin/define-plugin.ts";
import { text } from "../../testing/script.ts";
import type { ScriptStep } from "../../testing/scripted.ts";
import { ended, given, newsIn, office, STORES, works } from "./tasks.test-support.ts";

const GO = { agent: "lead", thread: "t", input: "go" } as const;

/** What a task has to say when the moment comes: something, and that it is done. */
function speaker() {
  const over = Promise.withResolvers<string>();
  let emit: ((eventType: string, payload: string) => boolean) | undefined;
  let wasTold: boolean | undefined;
  return {
    body: (scene: { emit(eventType: string, payload: string): boolean }): Promise<string> => {
      emit = scene.emit;
      return over.promise;
    },
    /** Once: what comes again is another moment. */
    speak: (): void => {
      if (emit === undefined || wasTold !== undefined) return;
      wasTold = emit("tick", "n");
      over.resolve("done");
    },
    get wasTold() {
      return wasTold;
    },
  };
}

/** Works once, then answers. */
const lead: readonly ScriptStep[] = new Array<ScriptStep>(30).fill(({ messages }) =>
  messages.some(({ role }) => role === "tool") ? text("read") : works,
);

const NEWS = [
  { kind: "custom", taskId: "bg_0", eventType: "tick", payload: "n" },
  { kind: "completed", taskId: "bg_0", result: "done" },
];

/** How the run ends while its task runs: it waits for it, or it is stopped by its limit. */
const ENDS = [
  ["waits for it", "lead"],
  ["is over", "brief"],
] as const;

const agentsWith = (...plugins: readonly string[]) => ({
  lead: { model: "lead", plugins },
  brief: { model: "brief", plugins, maxSteps: 2 },
});

/** Everything that the thread's runs have read in the end, one more run included if the first does not read it. */
async function readInTheEnd({ runtime, models }: ReturnType<typeof office>, runId: string) {
  const first = await ended(runtime, runId);
  if (first.status !== "done") await ended(runtime, (await runtime.run(GO)).runId);
  const last = await runtime.run({ ...GO, input: "once more" });
  expect(last).toMatchObject({ status: "done" });
  return newsIn(models["lead"]?.requests.at(-1));
}

describe.each(STORES)("news of a task, with %s", (_, make) => {
  describe.each(ENDS)("whose run %s", (_end, agent) => {
    test("multi-agent 66: that come in the hooks of its end are read once", async () => {
      const task = speaker();
      const ending = definePlugin({ id: "ending", register: (r) => r.hook("runEnd", () => void task.speak()) });
      const of = office({ lead, brief: [works, works] }, { ...given(make()), agents: agentsWith("ending"), plugins: [ending] });
      of.does(async ({ tasks }) => void (await tasks.spawn({}, task.body)));
      expect(await readInTheEnd(of, (await of.runtime.run({ ...GO, agent })).runId)).toEqual(NEWS);
      expect(task.wasTold).toBe(true);
      await of.runtime.close();
    });

    test("multi-agent 66: that come when it has left are read once", async () => {
      const task = speaker();
      const of = office({ lead, brief: [works, works] }, { ...given(make()), agents: agentsWith() });
      of.does(async ({ tasks }) => void (await tasks.spawn({}, task.body)));
      const first = await of.runtime.run({ ...GO, agent });
      expect(first.status).toBe(agent === "brief" ? "stopped" : "waiting");
      task.speak();
      expect(await readInTheEnd(of, first.runId)).toEqual(NEWS);
      expect(task.wasTold).toBe(true);
      await of.runtime.close();
    });
  });
});

/** Calls back around each commit that lets the run leave. */
function watched(store: QueueStore, when: "before" | "after", tell: () => void): QueueStore {
  const isLast = ({ run }: ThreadCommit): boolean => run?.status === "waiting" || run?.status === "done";
  const commit: QueueStore["commit"] = async (change) => {
    if (when === "before" && isLast(change)) tell();
    const done = await store.commit(change);
    if (when === "after" && isLast(change)) tell();
    return done;
  };
  return new Proxy(store, {
    get(target, name) {
      if (name === "commit") return commit;
      const found: unknown = Reflect.get(target, name, target);
      return typeof found === "function" ? found.bind(target) : found;
    },
  });
}

describe.each([
  ["memory", () => memoryStore()],
  ["sqlite", () => sqliteStore(":memory:")],
] as const)("news of a task in the moment of the last commit, on %s", (_, make) => {
  describe.each(ENDS)("of a run that %s", (_end, agent) => {
    test.each(["before", "after"] as const)("multi-agent 66: %s it are read once", async (when) => {
      const task = speaker();
      const store = watched(make(), when, task.speak);
      const of = office({ lead, brief: [works, works] }, { store, agents: agentsWith() });
      of.does(async ({ tasks }) => void (await tasks.spawn({}, task.body)));
      expect(await readInTheEnd(of, (await of.runtime.run({ ...GO, agent })).runId)).toEqual(NEWS);
      expect(task.wasTold).toBe(true);
      await of.runtime.close();
    });
  });
});
