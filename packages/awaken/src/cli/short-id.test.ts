import { afterAll, expect, test } from "vitest";
import { cli, Folders, jsonLines } from "./test-cli.ts";

const folders = new Folders();
afterAll(() => folders[Symbol.dispose]());

test("the beginning or the end of an id is enough wherever only one has it", async () => {
  const cwd = folders.project();
  const first = await cli(["run", "refund", "--agent", "assistant", "--json"], { cwd });
  const { threadId, runId } = jsonLines(first.stdout).at(-1) ?? {};
  const [thread, run] = [String(threadId), String(runId)];
  await cli(["run", "hi", "--agent", "assistant", "--thread", "order-12"], { cwd });

  for (const args of [
    ["show", thread.slice(-8)],
    ["show", run.slice(-8)],
    ["events", thread.slice(-8)],
    ["runs", "--thread", thread.slice(-8)],
  ]) {
    const { code, stdout, stderr } = await cli(args, { cwd });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("refund");
  }
  await cli(["run", "hi", "--agent", "assistant"], { cwd });
  // Both were made in the same days: their ids begin alike.
  expect(await cli(["show", thread.slice(0, 4)], { cwd })).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^error: '\w{4}' is part of 2 /),
  });
  expect((await cli(["show", "nobody"], { cwd })).stderr).toContain("there is no thread and no run 'nobody' here");

  // A name that somebody chose is the name of a new thread, and not a part of another one.
  await cli(["run", "hi", "--agent", "assistant", "--thread", "order-1"], { cwd });
  expect((await cli(["threads", "--json"], { cwd })).stdout.trim().split("\n")).toHaveLength(4);
  const again = await cli(["run", "hello", "--thread", thread.slice(-8)], { cwd });
  expect(again.stderr).toContain(`thread ${thread},`);
});

test("of a ticket too", async () => {
  const cwd = folders.project();
  const waiting = jsonLines((await cli(["run", "refund", "--agent", "assistant", "--json"], { cwd })).stdout).at(-1);
  const ticket = /"tickets":\[\{"id":"([^"]+)"/.exec(JSON.stringify(waiting))?.[1] ?? "";
  const short = ticket.length > 8 ? ticket.slice(-8) : ticket;
  expect(await cli(["decide", short, "--approve"], { cwd })).toMatchObject({ code: 0, stdout: expect.stringContaining("refunded 120") });
});
