import { type InferenceRequest, type Message, messageToolCalls, type RunId } from "@awaken/contract";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { CommitStore } from "../commit/commit-store.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import { CRASH_POINTS, CrashError, type CrashPlan, type CrashPoints, crashPoints } from "./crash-points.ts";
import { recordEvents } from "./event-recorder.ts";
import { decide, runScripted } from "./run-scripted.ts";
import { text, toolCalls } from "./script.ts";
import { scripted } from "./scripted.ts";
import { ThreadLog } from "./thread-log.ts";

const nothing = z.object({});

function expectPaired(messages: readonly Message[]): void {
  let open: string[] = [];
  for (const message of messages) {
    if (message.role === "tool") expect(open.shift()).toBe(message.toolCallId);
    else {
      expect(open).toEqual([]);
      open = messageToolCalls(message).map((call) => call.id);
    }
  }
  expect(open).toEqual([]);
}

const hasResults = (request: InferenceRequest): boolean => request.messages.some((message) => message.role === "tool");

const answer = (request: InferenceRequest) => {
  expectPaired(request.messages);
  if (hasResults(request)) return text("done");
  return toolCalls([
    { name: "look", input: {}, id: "c1" },
    { name: "pay", input: {}, id: "c2" },
  ]);
};

interface World {
  readonly thread: ThreadLog;
  /** Keys under which money was paid, as the bank sees it. */
  readonly paid: Set<string>;
}

const tools = ({ paid }: World) => [
  defineTool({ id: "look", description: "", input: nothing, execute: () => "seen" }),
  defineTool({
    id: "pay",
    description: "",
    input: nothing,
    approve: () => ask("Pay?"),
    execute: (_input, { idempotencyKey }) => {
      paid.add(idempotencyKey);
      return "paid";
    },
  }),
];

/** One activation, as a process makes it: it knows only what was committed. */
function activate(world: World, crash: CrashPoints, run: RunId | undefined) {
  const { thread } = world;
  const known = run !== undefined && thread.history(run).run !== undefined ? run : undefined;
  const tickets = known === undefined ? [] : thread.tickets;
  return runScripted({
    model: scripted(new Array(9).fill(answer)),
    thread,
    tools: crash.tools(tools(world)),
    store: crash.commits<CommitStore>(thread, "commit", "transaction"),
    onEvent: crash.emits(() => {}),
    decisions: tickets.map((ticket) => decide(ticket.id, { action: "approve" })),
    ...(known === undefined ? {} : { resume: known }),
  });
}

/** Activates until the run is done; only the activation `crashing` has crash points. */
async function play(world: World, crashing: number, crash: CrashPoints): Promise<void> {
  let run: RunId | undefined;
  for (let activation = 0; activation < 6; activation++) {
    const { result } = await activate(world, activation === crashing ? crash : crashPoints(), run);
    run = world.thread.history(result.runId).run === undefined ? run : result.runId;
    if (world.thread.run?.status === "done") return;
  }
  throw new Error("the run does not come to its end");
}

const newWorld = (): World => ({ thread: new ThreadLog(), paid: new Set() });

describe("crash points", () => {
  it("at every point of a run that waits and is resumed: the next activation finishes it, pays once, and shows the model no orphan", async () => {
    let crashes = 0;
    for (const crashing of [0, 1]) {
      const counted = crashPoints();
      await play(newWorld(), crashing, counted);
      for (const at of CRASH_POINTS) {
        for (let nth = 1; nth <= counted.counts[at]; nth++) {
          const world = newWorld();
          const crash = crashPoints({ at, nth, mode: "throw" });
          await play(world, crashing, crash);
          expect(crash.hasCrashed, `${at} ${nth}`).toBe(true);
          expect(world.paid.size, `${at} ${nth}`).toBe(1);
          expectPaired(world.thread.history().messages.map((entry) => entry.message));
          expect(new Set(world.thread.rows.map((row) => row.message.id)).size).toBe(world.thread.rows.length);
          crashes += 1;
        }
      }
    }
    expect(crashes).toBeGreaterThan(30);
  });

  it("after a crash nothing reaches the world any more", async () => {
    const written: number[] = [];
    const store = {
      commit: async (value: number) => written.push(value),
      read: () => "open",
    };
    const crash = crashPoints({ at: "commit-start", nth: 2, mode: "throw" });
    const port = crash.commits(store, "commit");
    const heard: unknown[] = [];
    const listen = crash.emits((event) => heard.push(event));
    await port.commit(1);
    listen({ type: "text-delta", delta: "a" });
    await expect(port.commit(2)).rejects.toThrowError(CrashError);
    await expect(port.commit(3)).rejects.toThrowError(CrashError);
    listen({ type: "text-delta", delta: "b" });
    expect(written).toEqual([1]);
    expect(heard).toHaveLength(1);
    expect(port.read()).toBe("open");
    expect(crash.counts).toMatchObject({ "commit-start": 2, "commit-end": 1, emit: 1 });
  });

  it("a commit may land without anybody hearing of it", async () => {
    const thread = new ThreadLog();
    const crash = crashPoints({ at: "commit-end", nth: 1, mode: "throw" });
    const store = crash.commits<CommitStore>(thread, "commit");
    const { result } = await runScripted({ turns: [], thread, store });
    expect(result.termination.type).toBe("error");
    expect(thread.commits).toHaveLength(1);
  });

  it("mode kill calls what it was given, once, at the point", async () => {
    const killed: string[] = [];
    const mode: CrashPlan["mode"] = { kill: () => killed.push("SIGKILL") };
    const crash = crashPoints({ at: "tool-end", nth: 1, mode });
    await activate(newWorld(), crash, undefined);
    expect(killed).toEqual(["SIGKILL"]);
  });

  it("leaves tools with their own checks, as they are", async () => {
    const [tool] = crashPoints().tools([
      defineTool({ id: "n", description: "d", input: z.object({ n: z.number() }), execute: ({ n }) => n }),
    ]);
    expect(tool?.descriptor.parameters).toMatchObject({ type: "object" });
    expect(await tool?.prepare({ n: "x" })).toMatchObject({ type: "invalid" });
    expect(await tool?.prepare({ n: 1 })).toMatchObject({ type: "valid", value: { input: { n: 1 } } });
  });
});

describe("event recorder", () => {
  it("keeps events, gives them by type, and fails on a wrong order", async () => {
    const recorder = recordEvents();
    await runScripted({ turns: [text("a", "b")], onEvent: recorder.listen });
    recorder.assertEnded();
    expect(recorder.of("text-delta").map((event) => event.delta)).toEqual(["a", "b"]);
    expect(() => recorder.listen({ type: "text-delta", delta: "late" })).toThrowError(/after the terminal event/);
    expect(() => recordEvents().assertEnded()).toThrowError(/no terminal event/);
  });
});
