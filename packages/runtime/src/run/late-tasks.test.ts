import { afterEach, expect, test, vi } from "vitest";
import { ended, leading, office } from "../builtin/background/tasks.test-support.ts";
import type { TaskSummary } from "../tool/tasks.ts";
import { moreRoom } from "./more-door.ts";

const brief = ({ taskId, taskType, name, description, status }: TaskSummary) => [taskId, taskType, name, description, status];

/** As in a process that has started none yet: the part that starts them has to be loaded. */
function loadLate(): void {
  const open = moreRoom.open.bind(moreRoom);
  vi.spyOn(moreRoom, "open").mockImplementation(async () => open());
}

afterEach(() => {
  vi.restoreAllMocks();
});

test("multi-agent 34: the first tasks of a process are there as soon as they are asked for; one that is cancelled in the same tick never runs", async () => {
  loadLate();
  const { runtime, does } = office({ lead: leading });
  const ran: string[] = [];
  let isChecked = false;
  const body = (name: string) => async () => {
    ran.push(name);
    return name;
  };
  does(async ({ tasks }) => {
    const asked = [
      tasks.spawn({ type: "x", name: "a", description: "first" }, body("a")),
      tasks.spawn({ name: "a" }, body("another a")),
      tasks.spawn({ name: "self" }, body("self")),
      tasks.spawnAgent({ name: "b", body: body("b") }),
      tasks.spawn({}, body("c")),
      tasks.spawn({ name: "d" }, body("d")),
    ];
    expect(tasks.list().map(brief)).toEqual([
      ["bg_0", "x", "a", "first", "running"],
      ["bg_1", "sub_agent", "b", "b", "running"],
      ["bg_2", "task", undefined, "task", "running"],
      ["bg_3", "task", "d", "d", "running"],
    ]);
    const seen = tasks.list();
    expect([tasks.get("bg_3"), tasks.get("bg_4")]).toEqual([seen[3], undefined]);
    expect([tasks.cancel("bg_0"), tasks.cancel("bg_0"), tasks.cancelTree("bg_1"), tasks.cancelTree("bg_1")]).toEqual([true, false, 1, 0]);
    const last = tasks.spawn({ name: "e" }, body("e"));
    expect([tasks.cancel("bg_2"), tasks.cancelTree("bg_4"), tasks.cancel("bg_9")]).toEqual([true, 1, false]);
    const settled = await Promise.allSettled([...asked, last]);
    expect(settled.map((each) => (each.status === "fulfilled" ? each.value : "refused"))).toEqual([
      ...["bg_0", "refused", "refused", "bg_1"],
      ...["bg_2", "bg_3", "bg_4"],
    ]);
    for (const { taskId } of seen) await tasks.settled(taskId);
    expect(tasks.list().map(({ taskId, status }) => [taskId, status])).toEqual([
      ["bg_0", "cancelled"],
      ["bg_1", "cancelled"],
      ["bg_2", "cancelled"],
      ["bg_3", "completed"],
      ["bg_4", "cancelled"],
    ]);
    expect(tasks.list().map(({ parent, createdAt: _at, ...rest }) => [rest.taskId, parent])).toEqual(
      [...seen, { taskId: "bg_4", parent: seen[0]?.parent }].map(({ taskId, parent }) => [taskId, parent]),
    );
    expect(tasks.cancelAll()).toBe(0);
    isChecked = true;
  });
  const run = await runtime.run({ agent: "lead", thread: "t", input: "go" });
  const { status } = await ended(runtime, run.runId);
  expect([status, ran, isChecked]).toEqual(["done", ["d"], true]);
  await runtime.close();
});
