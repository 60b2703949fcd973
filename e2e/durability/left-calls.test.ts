import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { runId, threadId } from "@awaken/contract";
import type { Finding } from "@awaken/runtime";
import { ticketsOf } from "@awaken/runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Act, BuyerOrder, Death, Told } from "./buyer-process.ts";
import type { ToolName } from "./support/agent.ts";
import { ORDERS, orderOf, type Read } from "./support/buyer.ts";
import { runChild } from "./support/child.ts";
import { type Folder, freshSchema, type Server, startServer, tempFolder } from "./support/databases.ts";
import { expectValidLog, logOf } from "./support/history.ts";
import type { KillKind } from "./support/kill-switch.ts";
import { Outside, type OutsideEffect } from "./support/outside.ts";
import { openStore, type Place } from "./support/place.ts";

// A process dies in a tool, and the ones after it go on with a new message. Every act is a process of its own; what happened is counted in
// a file that none of them can take back.

const THREAD = "t";
const FIRST_RUN = "first";
const [LOOK_UP, REPEAT, ASK] = [orderOf("look-up"), orderOf("repeat"), orderOf("ask-somebody")];
const lost = (tool: string) =>
  `'${tool}' was started and its outcome is unknown: it may have happened. Do not call it again before that is found out.`;

interface NamedDeath {
  readonly name: string;
  readonly death: Death;
}

const planned = (name: string, kind: KillKind, nth: number): NamedDeath => ({ name, death: { type: "plan", plan: { kind, nth } } });
const AFTER_ALL = planned("after all effects", "after-effect", 3);
const BEFORE_ANY = planned("before any effect", "before-effect", 1);
const BEFORE_LAST = planned("before the last effect", "before-effect", 3);

class Shop {
  readonly place: Place;
  readonly #effects: string;

  constructor(place: Place, effects: string) {
    this.place = place;
    this.#effects = effects;
    writeFileSync(effects, "");
  }

  get outside(): Outside {
    return new Outside(this.#effects);
  }

  /** Orders that happened, each as often as it did. */
  get happened(): readonly string[] {
    return this.outside.effects().map(({ order }) => order);
  }

  receipt(order: string): string {
    return JSON.stringify({ order, receipt: this.outside.ofOrder(order)?.receipt });
  }

  async #child(order: Pick<BuyerOrder, "acts" | "death">): Promise<readonly Told[]> {
    const told: Told[] = [];
    const { type } = await runChild<readonly Told[]>({
      file: join(import.meta.dirname, "buyer-process.ts"),
      order: { place: this.place, outside: this.#effects, thread: THREAD, ...order } satisfies BuyerOrder,
      onMessage(message) {
        told.push(...message);
        return undefined;
      },
    });
    expect(type).toBe(order.death === undefined ? "exit" : "killed");
    return told;
  }

  async die(death: Death): Promise<void> {
    expect(await this.#child({ acts: [{ type: "message", id: "m-1", runId: FIRST_RUN }], death })).toEqual([]);
  }

  /** What another process told about what it did. */
  tell(...acts: readonly Act[]): Promise<readonly Told[]> {
    return this.#child({ acts });
  }

  /** The run that was cut is ended, nothing is left open, and the log is one that a model can be shown. */
  async expectOver(): Promise<void> {
    await using store = await openStore(this.place);
    const open = await store.runs.list({ statuses: ["created", "running", "waiting"] });
    expect(open.items).toEqual([]);
    expect((await store.threads.loadHead(threadId(THREAD)))?.openRun).toBeUndefined();
    expectValidLog(await logOf(store, threadId(THREAD)), THREAD);
  }
}

function runIn(told: Told | undefined): Extract<Told, { type: "run" }> {
  if (told?.type === "run") return told;
  throw new Error(`no run: ${JSON.stringify(told)}`);
}

/** What the model has read about the orders when its run is done. */
function readIn(told: Told | undefined): Read {
  const { result } = runIn(told);
  if (result.status === "done") return JSON.parse(result.text);
  throw new Error(`not done: ${JSON.stringify(result)}`);
}

/** As somebody would who can look at the outside: it happened, and this is its receipt, or it did not. */
function findingOf(effect: OutsideEffect | undefined): Finding {
  if (effect === undefined) return { type: "not-done" };
  return { type: "done", data: { order: effect.order, receipt: effect.receipt }, by: "ana" };
}

const allReceipts = (shop: Shop): Read => Object.fromEntries(ORDERS.map(({ order }) => [order, shop.receipt(order)]));

/** Everything happened once, whoever asked for it. */
function expectOnce(shop: Shop): void {
  expect([...shop.happened].sort()).toEqual(ORDERS.map(({ order }) => order).sort());
}

async function messageAfterDeath(shop: Shop, death: Death): Promise<void> {
  await shop.die(death);
  const before = shop.happened;
  const [told] = await shop.tell({ type: "message", id: "m-2" });
  // The tool that can look is asked: what it found is the result, and what it did not find is ordered again.
  expect(readIn(told)).toEqual({ [LOOK_UP]: shop.receipt(LOOK_UP), [REPEAT]: lost("repeat"), [ASK]: lost("ask-somebody") });
  const again = before.includes(LOOK_UP) ? [] : [LOOK_UP];
  expect(runIn(told).begun).toEqual(again);
  expect(shop.happened).toEqual([...before, ...again]);
  await shop.expectOver();

  await using store = await openStore(shop.place);
  expect(await store.runs.load(runId(FIRST_RUN))).toMatchObject({ status: "done", outcome: { termination: { type: "cancelled" } } });
  const rows = (await store.ledger.list(runId(FIRST_RUN))).filter(({ status }) => status !== "finished");
  expect(rows.map(({ toolName, status }) => `${toolName} ${status}`).sort()).toEqual(["ask-somebody claimed", "repeat claimed"]);
  const findings = rows.map(({ idempotencyKey }): Act => {
    return { type: "reconcile", target: idempotencyKey, finding: findingOf(shop.outside.underKey(idempotencyKey)) };
  });
  const later = await shop.tell(...findings, { type: "message", id: "m-3" });
  expect(later.slice(0, -1)).toEqual(rows.map(() => ({ type: "recorded" })));
  expect(readIn(later.at(-1))).toEqual(allReceipts(shop));
  expectOnce(shop);
  await shop.expectOver();
}

async function messageWhileAsked(shop: Shop, death: Death, hint: { readonly runId?: string }): Promise<void> {
  await shop.die(death);
  const before = shop.happened;
  const [waiting] = await shop.tell({ type: "resume", run: FIRST_RUN });
  const tickets = ticketsOf(runIn(waiting).result);
  expect(tickets).toMatchObject([{ action: "unknown-outcome", toolName: "ask-somebody", input: { order: ASK } }]);
  const ticket = tickets[0]?.id ?? "";

  const read = readIn((await shop.tell({ type: "message", id: "m-2", ...hint }))[0]);
  expect(read).toEqual({ [LOOK_UP]: shop.receipt(LOOK_UP), [REPEAT]: shop.receipt(REPEAT), [ASK]: lost("ask-somebody") });
  expect(shop.happened).toEqual(before);
  await shop.expectOver();

  const late = await shop.tell(
    { type: "decide", ticket, decision: { action: "approve" } },
    { type: "decide", ticket, decision: { action: "answer", result: "paid" } },
    { type: "message", id: "m-3" },
    { type: "reconcile", target: ticket, finding: findingOf(shop.outside.ofOrder(ASK)) },
  );
  // Whoever answers now is told what closed it; nothing runs, and nothing changes before somebody says what became of it.
  const closed = { type: "refused", code: "ticket_not_open", details: { ticketId: ticket, runId: FIRST_RUN, closedBy: "m-2" } };
  expect(late.slice(0, 2)).toEqual([closed, closed]);
  expect(readIn(late[2])).toEqual(read);
  expect(late[3]).toEqual({ type: "recorded" });
  expect(shop.happened).toEqual(before);
  const [last] = await shop.tell({ type: "message", id: "m-4" });
  expect(readIn(last)).toEqual(allReceipts(shop));
  expectOnce(shop);
  await shop.expectOver();
}

/** A process that died in one of its calls, when the others were over; and what the ledger says about them. */
async function dieLasting(shop: Shop, tool: ToolName): Promise<void> {
  const order = orderOf(tool);
  await shop.die({ type: "lasting", order, run: FIRST_RUN });
  const others = ORDERS.filter((other) => other.order !== order);
  expect([...shop.happened].sort()).toEqual(others.map((other) => other.order).sort());
  await using store = await openStore(shop.place);
  const rows = await store.ledger.list(runId(FIRST_RUN));
  const expected = ORDERS.map((one) => `${one.tool} ${one.order === order ? "claimed" : "finished"}`);
  expect(rows.map(({ toolName, status }) => `${toolName} ${status}`).sort()).toEqual(expected.sort());
}

async function resumeLasting(shop: Shop): Promise<void> {
  await dieLasting(shop, "look-up");
  const [told] = await shop.tell({ type: "resume", run: FIRST_RUN });
  expect(readIn(told)).toEqual(allReceipts(shop));
  expect(runIn(told).begun).toEqual([LOOK_UP]);
  expectOnce(shop);
  await shop.expectOver();
}

async function askAboutLasting(shop: Shop): Promise<void> {
  await dieLasting(shop, "ask-somebody");
  const [waiting] = await shop.tell({ type: "resume", run: FIRST_RUN });
  expect(runIn(waiting).begun).toEqual([]);
  const tickets = ticketsOf(runIn(waiting).result);
  expect(tickets).toMatchObject([{ action: "unknown-outcome", input: { order: ASK } }]);
  const [told] = await shop.tell({ type: "decide", ticket: tickets[0]?.id ?? "", decision: { action: "approve" } });
  expect(readIn(told)).toEqual(allReceipts(shop));
  expect(runIn(told).begun).toEqual([ASK]);
  expectOnce(shop);
  await shop.expectOver();
}

async function messageLasting(shop: Shop): Promise<void> {
  await dieLasting(shop, "repeat");
  const before = shop.happened;
  const [told] = await shop.tell({ type: "message", id: "m-2" });
  expect(readIn(told)).toEqual({ ...allReceipts(shop), [REPEAT]: lost("repeat") });
  expect(runIn(told).begun).toEqual([]);
  expect(shop.happened).toEqual(before);
  await shop.expectOver();
}

describe("a process dies in its tools, and another one goes on", () => {
  let server: Server;
  let folder: Folder;
  beforeAll(async () => {
    server = await startServer();
    folder = tempFolder();
  });
  afterAll(() => {
    folder[Symbol.dispose]();
    return server[Symbol.asyncDispose]();
  });

  for (const engine of ["sqlite", "postgres"] as const) {
    const open = async (work: (shop: Shop) => Promise<void>) => {
      const name = join(folder.path, randomUUID());
      const shopAt = (place: Place) => new Shop(place, `${name}.jsonl`);
      if (engine === "sqlite") return await work(shopAt({ type: "sqlite", file: `${name}.db` }));
      await using schema = freshSchema(server.url);
      await work(shopAt({ type: "postgres", url: server.url, schema: schema.name }));
    };

    test.each([AFTER_ALL, BEFORE_ANY, BEFORE_LAST])(
      `core-execution 96: killed $name, a new message ends the run, and what was started stays in view and happens once, on ${engine}`,
      ({ death }) => open((shop) => messageAfterDeath(shop, death)),
    );

    test.each([
      { ...AFTER_ALL, hint: {}, way: "goes on with the run" },
      { ...BEFORE_LAST, hint: { runId: "second" }, way: "begins a run of its own" },
    ])(
      `core-execution 97: killed $name, a message that $way leaves the asked call in view, its ticket is closed for good, and what a person knows goes on record, on ${engine}`,
      ({ death, hint }) => open((shop) => messageWhileAsked(shop, death, hint)),
    );

    test(`core-execution 98: killed in a call that lasts, a resume takes the others as they ended and runs it alone, on ${engine}`, () =>
      open(resumeLasting));

    test(`core-execution 98: killed in a call that nobody can look up, a resume asks about it alone, on ${engine}`, () =>
      open(askAboutLasting));

    test(`core-execution 98: killed in a call that lasts, a new message leaves it in view beside the others as they ended, on ${engine}`, () =>
      open(messageLasting));
  }
});
