import { AwakenError, runId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import { always, team } from "../builtin/delegate/team.test-support.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import { text, toolCall } from "../testing/script.ts";
import { AT_ONCE } from "./stores.test-support.ts";

const T = threadId("t");

/** The same store, which does not take the first so many commits of other threads. */
function refusing(store: QueueStore, times: number): QueueStore {
  let left = times;
  const commit: QueueStore["commit"] = async (given) => {
    if (given.threadId !== T && left-- > 0) throw new AwakenError("storage_io", "the cable was cut");
    return store.commit(given);
  };
  return { ...store, commit };
}

describe.each(AT_ONCE)("a child whose first commit the store does not take, on %s", (_, make) => {
  async function play(times: number) {
    const clock = fakeClock(1_000);
    await using store = make(() => clock.now());
    const heard = always(({ role, text: said }) =>
      role === "tool" ? text(`heard ${said}`) : toolCall("agent_run_clerk", { prompt: "go" }, { id: "c1" }),
    );
    const { runtime } = team(
      {
        lead: { turns: heard, spec: { delegates: ["clerk"], tools: [] } },
        clerk: { turns: always(() => text("42")), spec: { tools: [] } },
      },
      { store: refusing(store, times), clock },
    );
    await using lead = runtime;
    const { runId: root } = await lead.start({ agent: "lead", thread: T, input: "go" });
    let isOver = false;
    const result = lead.wait(root).finally(() => {
      isOver = true;
    });
    for (let looks = 0; looks < 100 && !isOver; looks++) await clock.advance(250);
    const starts = (await store.events.list({ type: "run", runId: root }, {})).items.filter(({ kind }) => kind === "child-start");
    const below = (await store.runs.list({ rootRunId: runId(root) })).items.filter((run) => run.runId !== root);
    return { result: await result, starts: starts.length, below: below.map(({ status }) => status) };
  }

  test("is begun again: the run that asks for it has its answer, and is told of it once", async () => {
    for (const times of [1, 2, 3]) {
      const { result, starts, below } = await play(times);
      expect(result, `${times} times`).toMatchObject({ status: "done", text: "heard 42" });
      expect([starts, below], `${times} times`).toEqual([1, ["done"]]);
    }
  });

  test("and never does: the run that asks for it is told so, and does not wait for what is not there", async () => {
    const { result, below } = await play(1_000);
    expect(result).toMatchObject({ status: "done", text: expect.stringMatching(/heard .*could not be begun: the cable was cut/) });
    expect(below).toEqual([]);
  });
});
