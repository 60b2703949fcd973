import { AsyncLocalStorage } from "node:async_hooks";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type InferenceRequest, messageText, scopeId, threadId } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import {
  ask,
  createRuntime,
  definePlugin,
  defineProfile,
  defineTool,
  type Runtime,
  type RuntimeInit,
  type ScopedRuntime,
} from "@awaken/runtime";
import { type ScriptedTurn, type ScriptStep, scripted, soleNode, stall, text, ticketsOf, toolCalls } from "@awaken/runtime/testing";
import { memoryStore } from "@awaken/stores/memory";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { freshSchema, type Server, startServer, tempFolder } from "./support/databases.ts";
import { openStore } from "./support/place.ts";

const SILENT = { warn() {}, error() {} };
const APPROVE = { action: "approve" } as const;
const REQUEST = { thread: "t", runId: "r" } as const;
const taste = defineProfile("taste", { schema: z.string(), initial: () => "none" });

/** Each tenant counts its own ids, so that those of two tenants are the same at the same moment. */
class CountedIds {
  readonly #asking = new AsyncLocalStorage<string>();
  readonly #counts = new Map<string, number>();

  readonly next = (): string => {
    const tenant = this.#asking.getStore() ?? "";
    const count = (this.#counts.get(tenant) ?? 0) + 1;
    this.#counts.set(tenant, count);
    return `id-${tenant === "a" || tenant === "b" ? "" : tenant}${String(count).padStart(4, "0")}`;
  };

  of<T>(tenant: string, work: () => Promise<T>): Promise<T> {
    return this.#asking.run(tenant, work);
  }
}

const lastText = ({ messages }: InferenceRequest): string => {
  const last = messages.at(-1);
  return last === undefined ? "" : messageText(last);
};

/** Says what it was shown last, calls the tools when it is asked to. */
function reply(request: InferenceRequest): ScriptedTurn {
  const said = lastText(request);
  const [verb = "", who = ""] = said.split(" ");
  const call = (id: string) => ({ name: verb, input: { who }, id });
  if (verb === "pay") return toolCalls([call("c1"), call("c2")]);
  if (verb === "hold" || verb === "like") return toolCalls([call("c1")]);
  return text(`heard ${said}`);
}

const always = (step: ScriptStep): readonly ScriptStep[] => Array.from({ length: 40 }, () => step);

/** `pay` asks first, `hold` runs until its tenant is released, `like` writes the profile of ana and gives what was there. */
function world(init: Partial<RuntimeInit>, step: ScriptStep = reply) {
  const ids = new CountedIds();
  const paid: string[] = [];
  const keys: string[] = [];
  const seenBy: string[] = [];
  const held = new Map<string, () => void>();
  const input = z.object({ who: z.string() });
  const tools = [
    defineTool({
      id: "pay",
      description: "",
      input,
      approve: () => ask("Pay?"),
      execute: ({ who }, { idempotencyKey, scopeId }) => {
        paid.push(who);
        keys.push(idempotencyKey);
        seenBy.push(`tool ${scopeId}`);
        return `paid ${who}`;
      },
    }),
    defineTool({
      id: "hold",
      description: "",
      input,
      execute: ({ who }, { signal }) =>
        new Promise<string>((resolve) => {
          held.set(who, () => resolve(`held ${who}`));
          signal.addEventListener("abort", () => resolve("let go"));
        }),
    }),
    defineTool({
      id: "like",
      description: "",
      input,
      execute: async ({ who }, { profile }) => {
        const before = await profile.read(taste, "ana");
        await profile.write(taste, "ana", who);
        return `liked ${before}`;
      },
    }),
  ];
  const runtime = createRuntime({
    providers: { scripted: scripted(always(step)) },
    models: { fast: { provider: "scripted", model: "m" } },
    agents: { default: { model: "fast", plugins: ["tastes"] } },
    plugins: [
      definePlugin({
        id: "tastes",
        register(r) {
          r.profile(taste);
          r.hook("afterToolExecute", ({ scopeId }) => void seenBy.push(`hook ${scopeId}`));
        },
      }),
    ],
    log: SILENT,
    ids: ids.next,
    tools,
    node: soleNode(crypto.randomUUID()),
    workers: false,
    ...init,
  });
  const until = async (who: string): Promise<() => void> => {
    for (;;) {
      const release = held.get(who);
      if (release !== undefined) return release;
      await new Promise(setImmediate);
    }
  };
  return { runtime, ids, paid, keys, seenBy, until };
}

const both = <T>(runtime: Runtime, ids: CountedIds, work: (tenant: ScopedRuntime, name: string) => Promise<T>): Promise<[T, T]> =>
  Promise.all([ids.of("a", () => work(runtime.scoped("a"), "a")), ids.of("b", () => work(runtime.scoped("b"), "b"))]);

const textsOf = async (store: Store, scope: string): Promise<readonly string[]> =>
  (await store.scoped(scopeId(scope)).messages.list(threadId("t"), {})).items.map(({ message }) => messageText(message));

type With = (work: (init: Partial<RuntimeInit>, store: Store | undefined) => Promise<void>) => Promise<void>;

describe("tenants of one runtime", () => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const onStore = async (store: Store, work: Parameters<With>[0]): Promise<void> => {
    await using open = store;
    await work({ store: open }, open);
  };

  const places: Record<string, With> = {
    "no store": (work) => work({}, undefined),
    memory: (work) => onStore(memoryStore(), work),
    sqlite: async (work) => {
      using folder = tempFolder();
      await onStore(await openStore({ type: "sqlite", file: join(folder.path, "a.db") }), work);
    },
    postgres: async (work) => {
      await using schema = freshSchema(server.url);
      await onStore(await openStore({ type: "postgres", url: server.url, schema: schema.name }), work);
    },
  };

  describe.each(Object.entries(places))("%s", (_name, inPlace) => {
    test("server-and-durability 64: with the same thread, run and ticket ids at the same moment they never meet", () =>
      inPlace(async (init, store) => {
        const { runtime, ids, paid, keys } = world(init);
        const waiting = await both(runtime, ids, (tenant, name) => tenant.run({ ...REQUEST, input: `pay ${name}` }));
        const [ofA, ofB] = waiting.map((result) => ticketsOf(result).map(({ id }) => id));
        expect(ofA).toEqual(ofB);
        expect(ofA).toHaveLength(2);
        const [first = "", second = ""] = ofA ?? [];
        await expect(runtime.decide(first, APPROVE)).rejects.toMatchObject({ code: "ticket_not_found" });
        await expect(runtime.wait("r")).rejects.toMatchObject({ code: "run_not_found" });
        await expect(runtime.cancel("t")).resolves.toBe(false);
        const decided = await both(runtime, ids, async (tenant, name) => {
          const decision = name === "a" ? { ...APPROVE, id: "d" } : { action: "deny" as const, reason: "no", id: "d" };
          const run = await tenant.decideAll([
            { ticket: first, decision: { ...decision, id: "d1" } },
            { ticket: second, decision },
          ]);
          return run.result;
        });
        expect(decided.map(({ text: said }) => said)).toEqual([expect.stringContaining("paid a"), expect.stringContaining("no")]);
        expect(paid).toEqual(["a", "a"]);
        expect(new Set(keys).size).toBe(2);
        expect(decided.map(({ runId: id, threadId: thread }) => [id, thread])).toEqual([
          ["r", "t"],
          ["r", "t"],
        ]);
        if (store === undefined) return;
        expect((await textsOf(store, "a")).join()).not.toContain("pay b");
        expect((await textsOf(store, "b")).join()).not.toMatch(/pay a|paid/);
        expect(await store.threads.count({})).toBe(0);
      }));

    test("an outside system is given another key by each tenant, that of the default one as ever; tools and hooks see whose run it is", () =>
      inPlace(async (init, store) => {
        const { runtime, ids, keys, seenBy } = world(init);
        const pay = async (tenant: ScopedRuntime) => {
          const [first] = ticketsOf(await tenant.run({ ...REQUEST, input: "pay x" }));
          await (await tenant.decide(first?.id ?? "", APPROVE)).result;
        };
        await ids.of("a", () => pay(runtime.scoped("a")));
        await ids.of("b", () => pay(runtime.scoped("b")));
        await ids.of("", () => pay(runtime));
        const [ofA = "", ofB = "", own = ""] = keys;
        expect([ofA, ofB]).toEqual([own, own].map((key, index) => `${"ab"[index]}:${key}`));
        expect(own).toMatch(/^r:id-\d+:c1$/);
        expect(seenBy).toEqual(["a", "b", "default"].flatMap((tenant) => [`tool ${tenant}`, `hook ${tenant}`]));
        if (store === undefined) return;
        expect((await store.scoped(scopeId("a")).ledger.load(ofA))?.status).toBe("finished");
        expect((await store.ledger.load(own))?.status).toBe("finished");
      }));

    test("active runs: send, cancel, wait and the claim of a thread reach the tenant's own", () =>
      inPlace(async (init) => {
        const { runtime, ids, until } = world(init);
        const [a, b] = [runtime.scoped("a"), runtime.scoped("b")];
        const running = both(runtime, ids, (tenant, name) => tenant.run({ ...REQUEST, input: `hold ${name}` }));
        const [, release] = await Promise.all([until("a"), until("b")]);
        await ids.of("again", async () => {
          await expect(a.run({ thread: "t", input: "again" })).rejects.toMatchObject({ code: "thread_already_running" });
          expect(await runtime.send("t", "to nobody")).toMatchObject({ status: "refused" });
          expect(await b.send("r", "for b alone")).toMatchObject({ status: "steered" });
        });
        expect(await runtime.cancelAndWait("t")).toBe(false);
        expect(await a.cancelAndWait("r")).toBe(true);
        const waited = b.wait("r");
        release();
        const [ofA, ofB] = await running;
        expect([ofA.status, ofB.status, ofB.text]).toEqual(["cancelled", "done", "heard for b alone"]);
        expect(await waited).toEqual(ofB);
        expect((await a.wait("r")).status).toBe("cancelled");
      }));

    test("profiles stay with their tenant, and the default tenant is the runtime itself", () =>
      inPlace(async (init) => {
        const { runtime, ids } = world(init);
        const like = (tenant: ScopedRuntime, thread: string, who: string) =>
          ids.of(tenant.scopeId, () => tenant.run({ thread, input: `like ${who}` }));
        const [ofA, ofB] = await both(runtime, ids, (tenant, name) => tenant.run({ ...REQUEST, input: `like ${name}` }));
        expect([ofA.text, ofB.text]).toEqual(["heard liked none", "heard liked none"]);
        expect((await like(runtime, "t", "x")).text).toBe("heard liked none");
        expect((await like(runtime.scoped("default"), "t2", "y")).text).toBe("heard liked x");
        expect((await like(runtime.scoped("a"), "t3", "y")).text).toBe("heard liked a");
        expect([runtime.scopeId, runtime.scoped("a").scopeId]).toEqual(["default", "a"]);
      }));

    test("close ends the runs of all tenants, and every verb of every handle is refused from then on", () =>
      inPlace(async (init) => {
        const { runtime, ids, until } = world(init);
        const a = runtime.scoped("a");
        const running = both(runtime, ids, (tenant, name) => tenant.run({ ...REQUEST, input: `hold ${name}` }));
        await Promise.all([until("a"), until("b")]);
        const closed = runtime.close();
        expect((await running).map(({ status }) => status)).toEqual(["cancelled", "cancelled"]);
        await closed;
        await runtime.close();
        const refused = { code: "cancelled", message: "the runtime is closed" };
        for (const handle of [runtime, a, runtime.scoped("c")]) {
          await expect(handle.run({ thread: "t", input: "x" })).rejects.toMatchObject(refused);
          await expect(handle.stream({ thread: "t", input: "x" }).result).rejects.toMatchObject(refused);
          await expect(handle.decide("k", APPROVE)).rejects.toMatchObject(refused);
          await expect(handle.decideAll([{ ticket: "k", decision: APPROVE }])).rejects.toMatchObject(refused);
          await expect(handle.reconcile("k", { type: "not-done" })).rejects.toMatchObject(refused);
          for (const verb of ["wait", "resume", "cancel", "cancelAndWait"] as const)
            await expect(handle[verb]("r")).rejects.toMatchObject(refused);
          await expect(handle.send("t", "x")).rejects.toMatchObject(refused);
        }
      }));
  });

  test("a call that was claimed before keys named the tenant keeps its key when it is looked up, run again and reconciled", async () => {
    await using store = memoryStore();
    const own = store.scoped(scopeId("a"));
    const keys: string[] = [];
    const charge = (execute: () => Promise<string>) =>
      defineTool({
        id: "charge",
        description: "",
        input: z.object({ who: z.string() }),
        idempotent: true,
        reconcile: (_input, { idempotencyKey }) => {
          keys.push(`asked ${idempotencyKey}`);
          return { type: "unknown" };
        },
        execute: (_input, { idempotencyKey }) => {
          keys.push(idempotencyKey);
          return execute();
        },
      });
    const begun = Promise.withResolvers<void>();
    const hangs = charge(() => new Promise<never>(() => begun.resolve()));
    const call = toolCalls([{ name: "charge", input: { who: "x" }, id: "c1" }]);
    const before = world({ store: { ...own, scoped: store.scoped }, tools: [hangs] }, () => call);
    void before.ids.of("a", () => before.runtime.run({ ...REQUEST, input: "go" }));
    await begun.promise;
    const after = world({ store, tools: [charge(async () => "charged")] }, () => text("done"));
    expect((await after.ids.of("later", () => after.runtime.scoped("a").resume("r"))).status).toBe("done");
    const [first = ""] = keys;
    expect(first).toMatch(/^r:/);
    expect(keys).toEqual([first, `asked ${first}`, first]);
    expect(await own.ledger.load(first)).toMatchObject({ status: "finished", attempt: 2 });
  });

  test("streams that were cut are kept for their own tenant", async () => {
    await using store = memoryStore();
    const words = ["one ", "two ", "three ", "four ", "five ", "six ", "seven ", "eight "];
    const cut = world({ store, streamCheckpoints: true }, (request) => {
      const who = lastText(request).slice(-1);
      return stall(text(...words.map((word) => `${who}${word}`)), words.length);
    });
    await both(cut.runtime, cut.ids, async (tenant, name) => {
      let deltas = 0;
      for await (const event of tenant.stream({ ...REQUEST, input: `count ${name}` })) {
        if (event.type === "text-delta" && ++deltas === words.length) break;
      }
    });
    const { runtime, ids } = world({ store, streamCheckpoints: true }, () => text("end"));
    const [ofA, ofB] = await both(runtime, ids, (tenant) => tenant.resume("r"));
    expect([ofA.text, ofB.text]).toEqual([`a${words.join("a")}end`, `b${words.join("b")}end`]);
    expect((await store.stats()).streamCheckpoints).toBe(0);
    await cut.runtime.close();
  });

  test("a scope id that is none is refused, with what is wrong about it", () => {
    const { runtime } = world({});
    for (const [bad, why] of [
      ["", "non-blank"],
      [" ", "non-blank"],
      ["a\nb", "control characters"],
      ["x".repeat(513), "512 bytes"],
    ] as const) {
      expect(() => runtime.scoped(bad)).toThrow(expect.objectContaining({ code: "invalid_id", message: expect.stringContaining(why) }));
    }
  });

  test.each([
    ["no store", () => ({})],
    ["memory", () => ({ store: memoryStore() })],
  ] as const)("a tenant that is only looked at costs nothing that stays: %s", async (_name, init) => {
    setFlagsFromString("--expose-gc");
    const gc: () => void = runInNewContext("gc");
    const { runtime } = world(init());
    const look = async (from: number, to: number) => {
      for (let index = from; index < to; index++) {
        const tenant = runtime.scoped(`tenant ${index}`);
        if ((await tenant.cancel("r")) || (await tenant.wait("r").catch(({ code }) => code)) !== "run_not_found") expect.fail();
      }
      gc();
      return process.memoryUsage().heapUsed;
    };
    const before = await look(0, 500);
    const after = await look(500, 10_500);
    // A map with nothing in it takes more than a hundred bytes; a tenant of a store has a dozen.
    expect(after - before).toBeLessThan(10_000 * 100);
  });
});
