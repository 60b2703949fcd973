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

const RUN = "root";

/** The processes that one after the other have a part in a run. */
class Life implements Disposable {
  readonly #folder = tempFolder();
  readonly #spans = join(this.#folder.path, "spans.jsonl");
  told: Told | undefined;

  play(part: TracedOrder["part"]) {
    const { path } = this.#folder;
    return runChild<Told>({
      file: FILE,
      order: { database: join(path, "a.db"), spans: this.#spans, part } satisfies TracedOrder,
      onMessage: (message) => {
        this.told = message;
        return undefined;
      },
    });
  }

  /** Those that ended, as an exporter has them. */
  get spans(): readonly WrittenSpan[] {
    return readLines<WrittenSpan>(this.#spans).filter(({ isEnded }) => isEnded);
  }

  /** All of them, as they began. */
  get begun(): readonly WrittenSpan[] {
    return readLines<WrittenSpan>(this.#spans).filter(({ isEnded }) => !isEnded);
  }

  [Symbol.dispose](): void {
    this.#folder[Symbol.dispose]();
  }
}

test("a run whose delegate waits, dies in the next process and comes to its end in a third is one trace, with the delegate below its call, linked across processes", async () => {
  using life = new Life();
  expect(await life.play({ type: "begin", run: RUN, dies: false })).toEqual({ type: "exit" });
  expect(life.told).toMatchObject({ status: "waiting", run: RUN });
  expect(await life.play({ type: "decide", ticket: life.told?.ticket ?? "" })).toEqual({ type: "killed" });
  expect(await life.play({ type: "resume", run: RUN })).toEqual({ type: "exit" });
  expect(life.told).toMatchObject({ status: "done", run: RUN });

  const { spans, begun } = life;
  const of = (part: WrittenSpan["part"], name: string): WrittenSpan => {
    const found = spans.filter((span) => span.part === part && span.name === name);
    if (found.length !== 1 || found[0] === undefined) throw new Error(`${found.length} spans '${name}' of ${part}`);
    return found[0];
  };
  const parentOf = (part: WrittenSpan["part"], name: string) => spans.find(({ id }) => id === of(part, name).parent)?.name;
  checkConventions(spans);

  const request = of("begin", "caller begin");
  const first = of("begin", "invoke_agent lead");
  const call = of("begin", "execute_tool agent_run_helper");
  const asked = of("begin", "invoke_agent helper");
  expect(first.parent).toBe(request.id);
  expect(of("begin", "chat fast-1").parent).toBe(first.id);
  expect(parentOf("begin", "execute_tool look")).toBe("chat fast-1");
  expect(parentOf("begin", "execute_tool agent_run_helper")).toBe("chat fast-1");
  expect(asked).toMatchObject({ parent: call.id, links: [] });
  expect(of("begin", "chat small-1").parent).toBe(asked.id);
  expect(of("begin", "awaken.suspension")).toMatchObject({
    parent: asked.id,
    attributes: { "awaken.suspension.action": "suspended", "gen_ai.tool.call.id": "h0" },
  });
  for (const { attributes } of [first, asked]) expect(attributes).toMatchObject({ "awaken.root.close_reason": "waiting" });

  // The second process died inside of the helper, whose span nobody ended: its children name it. The lead still waited.
  expect(spans.filter(({ part, name }) => part === "decide" && name.startsWith("invoke_agent"))).toEqual([]);
  const second = of("decide", "execute_tool refund").parent;
  expect(begun.find(({ id }) => id === second)).toMatchObject({ name: "invoke_agent helper", parent: call.id });
  expect(of("decide", "execute_tool refund").attributes).toMatchObject({
    "awaken.tool.synthetic_parent": true,
    "gen_ai.tool.call.id": "h0",
  });
  expect(of("decide", "chat small-1").parent).toBe(second);
  expect(of("decide", "awaken.suspension")).toMatchObject({
    parent: second,
    attributes: { "awaken.suspension.action": "resumed", "awaken.suspension.duration": expect.any(Number) },
  });

  // Whoever goes on with the helper puts it below the call that asked for it, and tells what was before.
  const helper = of("resume", "invoke_agent helper");
  expect(helper.parent).toBe(call.id);
  expect(helper.links).toEqual([{ id: second, kind: "previous-activation" }]);
  expect(of("resume", "execute_tool dies")).toMatchObject({ parent: helper.id, attributes: { "awaken.tool.synthetic_parent": true } });
  expect(helper.attributes).toMatchObject({ "awaken.run.resumed": true, "awaken.root.close_reason": "done" });
  const lead = of("resume", "invoke_agent lead");
  expect(lead.parent).toBe(request.id);
  expect(lead.links).toEqual([{ id: first.id, kind: "previous-activation" }]);
  expect(lead.attributes).toMatchObject({ "awaken.run.id": RUN, "awaken.run.resumed": true, "awaken.root.close_reason": "done" });
  expect(of("resume", "execute_tool agent_run_helper")).toMatchObject({
    parent: lead.id,
    attributes: { "awaken.tool.synthetic_parent": true, "gen_ai.tool.call.id": "c1" },
  });
  // Only what waits for a decision tells of its wait: the lead waited for the helper.
  expect(spans.filter(({ part, name }) => part === "resume" && name === "awaken.suspension")).toEqual([]);
  expect(of("resume", "awaken.delegation")).toMatchObject({
    parent: lead.id,
    attributes: { "awaken.delegation.child_run_id": asked.attributes["awaken.run.id"], "awaken.delegation.success": true },
  });

  const below = { "awaken.parent_run.id": RUN, "awaken.parent_tool.call_id": "c1" };
  const ofHelper = spans.filter(({ attributes }) => attributes["awaken.agent.id"] === "helper");
  for (const { attributes } of ofHelper) expect(attributes).toMatchObject({ ...below, "awaken.run.id": asked.attributes["awaken.run.id"] });
  expect(ofHelper.length).toBe(9);
  const ours = spans.filter(({ attributes }) => "awaken.run.id" in attributes);
  expect(new Set(ours.map(({ trace }) => trace))).toEqual(new Set([request.trace]));
  expect(ours.length).toBeGreaterThan(15);
});

test("a delegate whose process dies before it has said anything is below the call that asked for it, in whatever process it goes on", async () => {
  using life = new Life();
  expect(await life.play({ type: "begin", run: RUN, dies: true })).toEqual({ type: "killed" });
  expect(await life.play({ type: "resume", run: RUN })).toEqual({ type: "exit" });
  expect(life.told).toMatchObject({ status: "done", run: RUN });
  const { spans, begun } = life;
  checkConventions(spans);
  const call = begun.find(({ part, name }) => part === "begin" && name === "execute_tool agent_run_helper");
  const helpers = begun.filter(({ name }) => name === "invoke_agent helper");
  expect(new Set(helpers.map(({ part }) => part))).toEqual(new Set(["begin", "resume"]));
  for (const helper of helpers) expect(helper).toMatchObject({ parent: call?.id, trace: call?.trace });
  const ours = spans.filter(({ attributes }) => "awaken.run.id" in attributes);
  expect(new Set(ours.map(({ trace }) => trace))).toEqual(new Set([call?.trace]));
});
