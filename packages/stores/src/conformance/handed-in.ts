import { userRecord } from "@awaken/contract/spec";
import { hasQueue, profileOwner, type Store } from "@awaken/contract/store";
import { describe, expect } from "vitest";
import { append, assistant, checkpoint, dispatch, event, R1, runs, state, T1, T2, T3, user } from "./records.ts";
import { type StoreTest, vandalise } from "./world.ts";

const owner = profileOwner("a");
const deep = () => ({ list: [{ nested: "as it was" }] });

/** Everything that can be handed to a write, once. Nothing of it is shared: it is going to be changed. */
const given = () =>
  structuredClone({
    create: { id: T3, title: "new", custom: deep() },
    patch: { custom: deep() },
    commit: append(0, [user("m1"), assistant("a1", ["c1"])], { run: runs.running(), threadState: state(1, deep()), events: [event("e1")] }),
    events: [event("e2", { payload: deep() })],
    checkpoint: checkpoint(),
    profile: deep(),
    config: { namespace: "agents", id: "a", record: userRecord(deep()) },
    pending: [{ message: user("p1") }, { message: user("p2") }],
    dispatch: dispatch("d1"),
  });

type Given = ReturnType<typeof given>;

/** All at once, as far as the store has what takes it. */
const writeAll = (
  store: Store,
  { create, patch, commit, events, profile, config, pending, ...more }: Given,
): readonly Promise<unknown>[] => [
  store.threads.create(create),
  store.threads.update(T2, patch),
  store.commit(commit),
  store.events.append(events),
  store.streamCheckpoints.put(more.checkpoint),
  store.profiles.put(owner, "k", profile),
  store.config.put(config),
  ...(hasQueue(store) ? [store.pending.append(T1, pending), store.dispatches.enqueue(more.dispatch)] : []),
];

async function expectAsGiven(store: Store): Promise<void> {
  const { create, patch, commit, events, profile, config, pending } = given();
  expect((await store.threads.load(T3))?.metadata).toMatchObject({ title: create.title, custom: create.custom });
  expect((await store.threads.load(T2))?.metadata).toMatchObject(patch);
  const { items: messages } = await store.messages.list(T1, {});
  expect(messages.map(({ message }) => message)).toEqual(commit.messageDelta?.messages);
  expect(await store.threads.loadState(T1)).toEqual(commit.threadState);
  expect(await store.runs.load(R1)).toMatchObject({ ...commit.run });
  const { items: log } = await store.events.list({ type: "thread", threadId: T1 }, {});
  expect(log.map(({ kind, payload }) => [kind, payload]).sort()).toEqual(
    [...(commit.events ?? []), ...events].map(({ draft: { kind, payload } }) => [kind, payload]).sort(),
  );
  expect(await store.streamCheckpoints.load(R1, 0)).toEqual(checkpoint());
  expect((await store.profiles.load(owner, "k"))?.value).toEqual(profile);
  expect((await store.config.load({ namespace: "agents", id: "a" }))?.record.spec).toEqual(config.record.spec);
  if (!hasQueue(store)) return;
  expect((await store.pending.load(T1)).entries.map(({ message }) => message)).toEqual(pending.map(({ message }) => message));
  expect(await store.dispatches.list(T1, {})).toMatchObject([given().dispatch]);
}

export function handedInConformance(it: StoreTest): void {
  describe("what is handed in", () => {
    it("is read as it was when it was, also where a write stands in line behind a transaction", async ({ store }) => {
      await store.threads.create({ id: T2 });
      const gate = Promise.withResolvers<void>();
      const held = store.transaction(() => gate.promise);
      const all = given();
      const writing = writeAll(store, all);
      vandalise(all);
      gate.resolve();
      await held;
      await Promise.all(writing);
      await expectAsGiven(store);
    });

    it("stays his who handed it in: it is not frozen", async ({ store }) => {
      await store.threads.create({ id: T2 });
      const all = given();
      await Promise.all(writeAll(store, all));
      await store.messages.list(T1, {});
      const { profile, commit } = all;
      vandalise(all);
      expect(profile).toEqual({ list: "vandalised", vandal: true });
      expect(commit).toMatchObject({ messageDelta: "vandalised", vandal: true });
      await expectAsGiven(store);
    });
  });
}
