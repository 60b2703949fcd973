import { runId } from "@awaken/contract";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, it } from "vitest";
import { text, toolCall } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import { crash, input, type Kind, lastPrompt, open, openEntries, World } from "./crash.test-support.ts";

const pay = toolCall("pay", { n: 7 }, { id: "call_0" });
const LOST = "tool: 'pay' was started and its outcome is unknown: it may have happened. Do not call it again before that is found out.";
const asks: Kind = { reconcile: () => ({ type: "unknown" }) };

describe("a run that was cut off in a tool, and is cancelled instead of resumed", () => {
  it.each([
    ["the tool finds it", asks, "tool-end", 'tool: {"did":7}', "finished"],
    ["the tool finds that it did not happen", asks, "tool-start", "tool: 'pay' was started and did not happen.", "finished"],
    ["nobody can tell", {}, "tool-end", LOST, "claimed"],
    ["it could be run again, which nobody waits for", { idempotent: true }, "tool-end", LOST, "claimed"],
  ] as const)("has what is known of its call on record: %s", async (_, kind, at, said, status) => {
    const [store, world] = [memoryStore(), new World()];
    const own: Kind = "reconcile" in kind ? { reconcile: world.reconcile } : kind;
    const tools = [world.tool("pay", own)];
    const run = await crash(store, at, 1, scripted([pay]), { tools });
    const model = scripted([text("fine")]);
    const runtime = open(model, { store, tools });
    expect(await runtime.cancel(run)).toBe(true);
    expect(await runtime.wait(run)).toMatchObject({ status: "cancelled" });
    expect(await store.runs.load(runId(run))).toMatchObject({ status: "done", outcome: { termination: { type: "cancelled" } } });
    expect(await openEntries(store, run)).toMatchObject([{ status, attempt: 1 }]);
    expect(world.done).toEqual(at === "tool-end" ? ["pay 7"] : []);
    await runtime.run({ thread: "t", input: "hello?" });
    expect(lastPrompt(model)).toEqual(["user: go", "assistant: ", said, "user: hello?"]);
  });

  it("asks the tool of a decided call, too, and gives it a signal that is not over", async () => {
    const [store, world] = [memoryStore(), new World()];
    const seen: boolean[] = [];
    const guarded = defineTool({
      id: "pay",
      description: "",
      input,
      approve: () => ask("Pay?"),
      execute: ({ n }, { idempotencyKey }) => {
        world.effects.push(`pay ${n} ${idempotencyKey}`);
        if (world.effects.length === 1) throw new Error("never told");
        return { did: n };
      },
      reconcile: (given, ctx) => {
        seen.push(ctx.signal.aborted);
        return world.reconcile(given, ctx);
      },
    });
    const first = open(scripted([pay]), { store, tools: [guarded] });
    const [ticket] = ticketsOf(await first.run({ thread: "t", input: "go" }));
    // The process that was told to go on dies with the claim on record.
    let isDead = false;
    const dying = open(scripted([]), {
      store: {
        ...store,
        commit: async (commit) => {
          if (isDead) throw new Error("dead");
          const result = await store.commit(commit);
          isDead = (commit.ledger?.claims.length ?? 0) > 0;
          return result;
        },
      },
      tools: [guarded],
    });
    const run = await dying.decide(ticket?.id ?? "", { action: "approve" });
    await run.result.catch(() => {});
    expect(await openEntries(store, run.id)).toMatchObject([{ status: "claimed" }]);
    const last = open(scripted([]), { store, tools: [guarded] });
    expect(await last.cancel(run.id)).toBe(true);
    expect(await last.wait(run.id)).toMatchObject({ status: "cancelled" });
    expect(seen).toEqual([false]);
    expect(await openEntries(store, run.id)).toMatchObject([{ status: "finished", result: { type: "success", data: { did: 7 } } }]);
  });
});
