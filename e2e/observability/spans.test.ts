import { join } from "node:path";
import { SpanKind } from "@opentelemetry/api";
import { expect, test } from "vitest";
import { runChild } from "../durability/support/child.ts";
import { tempFolder } from "../durability/support/databases.ts";
import { readLines } from "../durability/support/outside.ts";
import type { Told, TracedOrder, WrittenSpan } from "./traced-process.ts";

const FILE = join(import.meta.dirname, "traced-process.ts");

/** What the conventions ask of every span of their kind. */
function checkConventions(spans: readonly WrittenSpan[]): void {
  for (const { name, kind, attributes } of spans) {
    const { "gen_ai.operation.name": operation } = attributes;
    if (operation === undefined) continue;
    expect(attributes).toMatchObject({ "gen_ai.conversation.id": expect.any(String), "gen_ai.agent.id": expect.any(String) });
    const [called, ownKind, needed] = {
      invoke_agent: [attributes["gen_ai.agent.name"], SpanKind.INTERNAL, ["gen_ai.provider.name"]] as const,
      chat: [attributes["gen_ai.request.model"], SpanKind.CLIENT, ["gen_ai.provider.name", "gen_ai.response.finish_reasons"]] as const,
      execute_tool: [attributes["gen_ai.tool.name"], SpanKind.INTERNAL, ["gen_ai.tool.type", "gen_ai.tool.call.id"]] as const,
    }[String(operation)] ?? ["no such operation", -1, []];
    expect([name, kind]).toEqual([`${String(operation)} ${String(called)}`, ownKind]);
    for (const one of needed) expect(attributes).toHaveProperty([one]);
  }
}

test("a run that waits, whose next process dies and which a third brings to its end with a delegate is one trace, linked across processes", async () => {
  using folder = tempFolder();
  const [database, file] = [join(folder.path, "a.db"), join(folder.path, "spans.jsonl")];
  let told: Told | undefined;
  const play = (part: TracedOrder["part"]) =>
    runChild<Told>({
      file: FILE,
      order: { database, spans: file, part } satisfies TracedOrder,
      cache: join(folder.path, "compiled"),
      onMessage(message) {
        told = message;
        return undefined;
      },
    });
  expect(await play({ type: "begin" })).toEqual({ type: "exit" });
  expect(told).toMatchObject({ status: "waiting" });
  expect(await play({ type: "decide", ticket: told?.ticket ?? "" })).toEqual({ type: "killed" });
  expect(await play({ type: "resume", run: told?.run ?? "" })).toEqual({ type: "exit" });
  expect(told).toMatchObject({ status: "done" });

  const spans = readLines<WrittenSpan>(file);
  const of = (part: WrittenSpan["part"], name: string): WrittenSpan => {
    const found = spans.filter((span) => span.part === part && span.name === name);
    if (found.length !== 1 || found[0] === undefined) throw new Error(`${found.length} spans '${name}' of ${part}`);
    return found[0];
  };
  const parentOf = (part: WrittenSpan["part"], name: string) => spans.find(({ id }) => id === of(part, name).parent)?.name;
  checkConventions(spans);

  const request = of("begin", "caller begin");
  const first = of("begin", "invoke_agent lead");
  expect(first.parent).toBe(request.id);
  expect(of("begin", "chat fast-1").parent).toBe(first.id);
  expect(parentOf("begin", "execute_tool look")).toBe("chat fast-1");
  expect(of("begin", "awaken.suspension").attributes).toMatchObject({
    "awaken.suspension.action": "suspended",
    "gen_ai.tool.call.id": "c1",
  });

  // The second process died inside of its activation, whose span nobody ended: its children name it.
  expect(spans.filter(({ part, name }) => part === "decide" && name.startsWith("invoke_agent"))).toEqual([]);
  const second = of("decide", "execute_tool refund").parent;
  expect(of("decide", "execute_tool refund").attributes).toMatchObject({
    "awaken.tool.synthetic_parent": true,
    "gen_ai.tool.call.id": "c1",
  });
  expect(of("decide", "chat fast-1").parent).toBe(second);
  expect(of("decide", "awaken.suspension").attributes).toMatchObject({
    "awaken.suspension.action": "resumed",
    "awaken.suspension.duration": expect.any(Number),
  });

  const third = of("resume", "invoke_agent lead");
  expect(third.parent).toBe(request.id);
  expect(third.links).toEqual([
    { id: second, kind: "previous-activation" },
    { id: of("resume", "caller resume").id, kind: "caller" },
  ]);
  expect(third.attributes).toMatchObject({ "awaken.run.id": told?.run, "awaken.run.resumed": true, "awaken.root.close_reason": "done" });
  expect(of("resume", "execute_tool dies")).toMatchObject({ parent: third.id, attributes: { "awaken.tool.synthetic_parent": true } });
  expect(parentOf("resume", "invoke_agent helper")).toBe("execute_tool agent_run_helper");
  expect(of("resume", "invoke_agent helper").attributes).toMatchObject({
    "awaken.parent_run.id": told?.run,
    "awaken.parent_tool.call_id": "c3",
  });
  const ours = spans.filter(({ attributes }) => "awaken.run.id" in attributes);
  expect(new Set(ours.map(({ trace }) => trace))).toEqual(new Set([request.trace]));
  expect(ours.length).toBeGreaterThan(10);
});
