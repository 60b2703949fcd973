import { join } from "node:path";
import { messageText, threadId } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import { ask, createRuntime, defineTool } from "@awaken/runtime";
import { type ScriptStep, scripted, soleNode, text, ticketsOf, toolCalls } from "@awaken/runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { freshSchema, type Server, startServer, tempFolder } from "./support/databases.ts";
import { openStore, type Place } from "./support/place.ts";

const APPROVE = { action: "approve" } as const;
const SILENT = { warn() {}, error() {} };
const pay = (n: number, id = "call_0") => ({ name: "pay", input: { n }, id });
const slow = { name: "slow", input: { n: 0 }, id: "s" };

/** `pay` asks first; `slow` runs until it is released. */
function world() {
  const done: string[] = [];
  const [began, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const input = z.object({ n: z.number() });
  const execute = ({ n }: { n: number }) => {
    done.push(`paid ${n}`);
    return `paid ${n}`;
  };
  const wait = async () => {
    began.resolve();
    await released.promise;
    return "slow";
  };
  const tools = [
    defineTool({ id: "pay", description: "", input, approve: () => ask("Pay?"), execute }),
    defineTool({ id: "give", description: "", input, execute }),
    defineTool({ id: "slow", description: "", input, execute: wait }),
  ];
  return { done, tools, began: began.promise, release: released.resolve };
}

type Tools = ReturnType<typeof world>["tools"];

/** A node that leaves the runs of others alone: they are at work. */
const neighbour = (name: string) => ({ name, isGone: () => false });

const open = (
  turns: readonly ScriptStep[],
  store: Store,
  tools: Tools,
  toolExecution: "parallel" | "sequential" = "parallel",
  node = soleNode(crypto.randomUUID()),
) =>
  createRuntime({
    providers: { scripted: scripted(turns) },
    models: { fast: { provider: "scripted", model: "m" } },
    agents: { default: { model: "fast", toolExecution } },
    log: SILENT,
    node,
    workers: false,
    ...{ store, tools },
  });

describe("tickets in the records of a database", () => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  for (const engine of ["sqlite", "postgres"] as const) {
    /** Two nodes on one database. */
    const onNodes = async (work: (here: Store, there: Store) => Promise<void>) => {
      using folder = tempFolder();
      await using schema = freshSchema(server.url);
      const place: Place =
        engine === "sqlite"
          ? { type: "sqlite", file: join(folder.path, "a.db") }
          : { type: "postgres", url: server.url, schema: schema.name };
      await using here = await openStore(place);
      await using there = await openStore(place);
      await work(here, there);
    };

    test(`core-execution 75, 79: a repeated call id is another ticket; late and repeated decisions never reach it, on ${engine}`, () =>
      onNodes(async (here, there) => {
        const { done, tools } = world();
        const [a, b] = [open([toolCalls([pay(1)])], here, tools), open([toolCalls([pay(2)]), text("over")], there, tools)];
        const [first] = ticketsOf(await a.run({ thread: "t", input: "pay" }));
        const [second] = ticketsOf(await (await b.decide(first?.id ?? "", { ...APPROVE, id: "d1" })).result);
        expect([second?.toolCallId, second?.id === first?.id]).toEqual(["call_0", false]);
        await a.decide(first?.id ?? "", { ...APPROVE, id: "d1" });
        await expect(a.decide(first?.id ?? "", APPROVE)).rejects.toMatchObject({ code: "ticket_not_open" });
        await expect(a.decide(second?.id ?? "", { ...APPROVE, id: "d1" })).rejects.toMatchObject({ code: "decision_conflict" });
        expect(done).toEqual(["paid 1"]);
      }));

    test(`core-execution 76, 77, 78, 80, 82: tickets of a running record, seen and decided by all nodes and followed where it runs, on ${engine}`, () =>
      onNodes(async (here, there) => {
        const { done, tools, began, release } = world();
        const a = open([toolCalls([slow, pay(1), pay(2)]), text("over")], here, tools, "parallel", neighbour("a"));
        const b = open([], there, tools, "parallel", neighbour("b"));
        const run = a.stream({ thread: "t", input: "pay" });
        const [one = "", two = ""] = await (async () => {
          const heard: string[] = [];
          for await (const event of run) {
            if (event.type === "ticket-open") heard.push(event.ticket.id);
            if (heard.length === 2) break;
          }
          return heard;
        })();
        await began;
        expect(await there.runs.load(run.id)).toMatchObject({ status: "running", tickets: [{ id: one }, { id: two }] });
        const bad = [one, "nobody"].map((ticket) => ({ ticket, decision: APPROVE }));
        await expect(a.decideAll(bad)).rejects.toMatchObject({ code: "ticket_not_found" });
        await a.decide(two, { action: "deny" });
        expect(await there.runs.load(run.id)).toMatchObject({ decided: [{ ticketId: two }], tickets: [{ id: one }] });
        // The other node puts it on record, and the owner follows it.
        const last = await b.decide(one, { ...APPROVE, id: "d-one" });
        expect(await there.wishes.load("d-one")).toMatchObject({ type: "decision", ticketId: one });
        await expect(b.decide(one, { action: "deny", id: "d-two" })).rejects.toMatchObject({ code: "ticket_not_open" });
        release();
        expect(await last.result).toMatchObject({ status: "done", text: "over" });
        expect(done).toEqual(["paid 1"]);
        expect((await there.wishes.load("d-one"))?.takenAt).toBeDefined();
        const { items } = await there.messages.list(threadId("t"), { visibility: "all" });
        const rows = items.flatMap(({ message }) => (message.role === "tool" && message.status === "error" ? [messageText(message)] : []));
        expect(rows).toHaveLength(1);
      }));

    test(`core-execution 83, 98: calls behind one that waited run on another node; outcomes beside one that lasts are on record, on ${engine}`, () =>
      onNodes(async (here, there) => {
        const { done, tools, began } = world();
        const give = (n: number) => ({ name: "give", input: { n }, id: `g${n}` });
        const a = open([toolCalls([give(1), pay(2), give(3)])], here, tools, "sequential");
        const b = open([toolCalls([give(4), slow])], there, tools, "sequential");
        const [ticket] = ticketsOf(await a.run({ thread: "t", input: "pay" }));
        const run = await b.decide(ticket?.id ?? "", APPROVE);
        await began;
        expect(done).toEqual(["paid 1", "paid 2", "paid 3", "paid 4"]);
        const entries = await here.ledger.list(run.id);
        expect(entries.map(({ toolName, status }) => `${toolName} ${status}`).toSorted()).toEqual([
          ...Array(3).fill("give finished"),
          "pay finished",
          "slow claimed",
        ]);
        // That node is gone; the other one goes on.
        const [asked] = ticketsOf(await open([], here, world().tools, "sequential").resume(run.id));
        expect(asked).toMatchObject({ toolName: "slow", action: "unknown-outcome" });
      }));
  }
});
