import { type RunRecord, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { FRONTEND } from "./crew.ts";
import { decideSome } from "./decide.ts";
import type { Node } from "./fleet.ts";
import type { People } from "./people.ts";
import { type Kind, makePlan, planText } from "./plans.ts";

interface Place extends Node {
  readonly thread: string;
  /** Of the message that is to be said. */
  readonly message: string;
  readonly input: readonly [{ readonly role: "user"; readonly id: string; readonly content: string }];
}

interface Verb {
  readonly weight: number;
  readonly on: readonly Kind[];
  act(people: People, place: Place): Promise<unknown>;
}

const ALL: readonly Kind[] = ["line", "desk", "wild", "gone"];
const TALK: readonly Kind[] = ["desk", "wild", "gone"];
const STOP: readonly Kind[] = ["wild", "gone"];

const agentFor = ({ scheduler: { numbers } }: People, { thread }: Place): string =>
  numbers.below(5) === 0 && !thread.startsWith("line") ? numbers.pick(["lead", "other", "guest"]) : "lead";

const requestOf = (people: People, place: Place) => ({
  agent: agentFor(people, place),
  thread: place.thread,
  input: place.input,
  frontendTools: FRONTEND,
});

const allOf = async (store: QueueStore, thread: string): Promise<readonly RunRecord[]> =>
  (await store.runs.list({ threadId: threadId(thread), limit: 200 })).items;

type Start = Parameters<Node["runtime"]["start"]>[0];

const start = (op: string, weight: number, on: readonly Kind[], more: (people: People) => Partial<Start> = () => ({})): Verb => ({
  weight,
  on,
  act: (people, place) =>
    people.journal.ask({ op, thread: place.thread, message: place.message }, place, () =>
      place.runtime.start({ ...requestOf(people, place), ...more(people) }),
    ),
});

const run = (op: string, weight: number, on: readonly Kind[], onBusy: "queue" | "refuse" | "interrupt"): Verb => ({
  weight,
  on,
  act: (people, place) =>
    people.journal.askAside({ op, thread: place.thread, message: place.message }, place, () =>
      place.runtime.run({ ...requestOf(people, place), onBusy }),
    ),
});

const send = (op: string, weight: number, on: readonly Kind[], mode: "queue" | "steer" | "interrupt"): Verb => ({
  weight,
  on,
  act: ({ journal }, { thread, message, input, ...node }) =>
    journal.ask({ op, thread, message }, node, () => node.runtime.send(thread, input, { mode })),
});

const simple = (op: string, weight: number, on: readonly Kind[], work: (place: Place, people: People) => Promise<unknown>): Verb => ({
  weight,
  on,
  act: (people, place) => people.journal.ask({ op, thread: place.thread }, place, () => work(place, people)),
});

const VERBS: readonly Verb[] = [
  start("start", 14, ALL),
  start("start-refuse", 3, TALK, () => ({ onBusy: "refuse" })),
  start("start-key", 2, TALK, () => ({ dedupeKey: "k" })),
  start("start-prio", 3, TALK, ({ scheduler: { numbers } }) => ({ priority: numbers.below(256) })),
  start("start-interrupt", 2, STOP, () => ({ onBusy: "interrupt" })),
  run("run-queue", 5, ALL, "queue"),
  run("run-refuse", 3, ALL, "refuse"),
  run("run-interrupt", 3, STOP, "interrupt"),
  send("send-queue", 6, ALL, "queue"),
  send("send-steer", 8, TALK, "steer"),
  send("send-interrupt", 2, STOP, "interrupt"),
  {
    weight: 4,
    on: ALL,
    act: (people, place) =>
      people.journal.askAside({ op: "stream", thread: place.thread, message: place.message }, place, async () => {
        const stream = place.runtime.stream({ ...requestOf(people, place), onBusy: "queue" });
        const leaves = people.scheduler.numbers.below(3) === 0;
        for await (const event of stream) if (leaves && event.type === "step-end") break;
        return stream.result;
      }),
  },
  {
    weight: 4,
    on: TALK,
    async act({ journal, store, scheduler: { numbers } }, { thread, message, input, ...node }) {
      const target = (await allOf(store, thread)).at(-1 - numbers.below(2));
      if (target === undefined) return;
      const mode = numbers.pick<"queue" | "steer">(["queue", "steer"]);
      await journal.ask({ op: "send-run", thread, message, run: target.runId }, node, () =>
        node.runtime.send(target.runId, input, { mode }),
      );
    },
  },
  {
    weight: 3,
    on: TALK,
    async act({ journal, store, scheduler: { numbers } }, { thread, ...node }) {
      const target = (await allOf(store, thread)).at(-1 - numbers.below(3));
      if (target === undefined) return;
      const timeoutMs = numbers.below(400);
      await journal.askAside({ op: "wait", thread, run: target.runId }, node, () => node.runtime.wait(target.runId, { timeoutMs }));
    },
  },
  {
    weight: 3,
    on: TALK,
    act: ({ journal, scheduler: { numbers } }, { thread, ...node }) =>
      journal.askAside({ op: "attach", thread }, node, async () => {
        const leaving = new AbortController();
        node.lane.clock.timer(numbers.below(500), () => leaving.abort());
        for await (const _ of node.runtime.attach(thread, { signal: leaving.signal })) if (leaving.signal.aborted) break;
      }),
  },
  simple("cancel", 3, STOP, ({ runtime, thread }) => runtime.cancel(thread)),
  simple("cancel-and-wait", 2, STOP, ({ runtime, thread }) => runtime.cancelAndWait(thread)),
  simple("interrupt", 2, STOP, ({ runtime, thread }) => runtime.interrupt(thread)),
  simple("cancel-run", 3, ["wild"], cancelSome),
  simple("pending", 3, STOP, changePending),
  simple("rewind", 2, STOP, rewind),
  simple("dead-letter", 2, STOP, openLetter),
  simple("delete", 6, ["gone"], ({ store, thread }, { scheduler: { numbers } }) =>
    store.threads.delete(threadId(thread), numbers.pick(["cascade", "detach"])),
  ),
  simple("recover", 1, ALL, ({ runtime }) => runtime.recover()),
  {
    weight: 2,
    on: ALL,
    act({ fleet, journal }) {
      const { old, close } = fleet.replace();
      return journal.askAside({ op: "close", thread: "" }, old, close);
    },
  },
  { weight: 2, on: ALL, act: async ({ fleet }) => fleet.sendGuestAway() },
  { weight: 1, on: ALL, act: async ({ fleet }) => fleet.kill() },
];

const rootOf = (each: RunRecord): string => each.activation.trace.ancestors?.[0]?.threadId ?? each.threadId;

/** Also one that another run asked for. */
async function cancelSome({ runtime }: Place, { store, scheduler: { numbers } }: People): Promise<unknown> {
  const { items } = await store.runs.list({ statuses: ["waiting", "running", "created"], limit: 200 });
  const runs = items.filter((each) => rootOf(each).startsWith("wild"));
  const target = runs[numbers.below(Math.max(1, runs.length))];
  return target === undefined ? undefined : runtime.cancel(target.runId);
}

async function changePending({ runtime: { pending }, thread }: Place, { scheduler: { numbers } }: People): Promise<void> {
  const { entries, revision } = await pending.list(thread);
  const own = entries.filter(({ message }) => message.metadata?.task === undefined);
  const entry = own[numbers.below(Math.max(1, own.length))];
  if (entry === undefined) return;
  const { pendingId, revision: seen } = entry;
  const what = numbers.below(4);
  if (what === 0) await pending.retract(thread, pendingId, seen);
  else if (what === 1) {
    const content = planText({ order: `${pendingId}-edited`, steps: [] });
    await pending.edit(thread, pendingId, { revision: seen, message: { role: "user", content } });
  } else if (what === 2) {
    await pending.reorder(thread, entries.map((each) => each.pendingId).reverse(), revision);
  } else await pending.edit(thread, pendingId, { revision: seen, deliveryMode: { barrier: true } });
}

async function rewind({ runtime, thread }: Place, { store, scheduler: { numbers } }: People): Promise<void> {
  const { items } = await store.messages.list(threadId(thread), { limit: 200 });
  const said = items.filter(({ message }) => message.role === "user").at(-1 - numbers.below(3));
  if (said !== undefined) await runtime.rewind(thread, { toMessageId: said.message.id });
}

async function openLetter({ runtime: { deadLetters } }: Place, { scheduler: { numbers } }: People): Promise<void> {
  const { items } = await deadLetters.list();
  const letter = items[numbers.below(Math.max(1, items.length))];
  if (letter === undefined) return;
  await (numbers.below(2) === 0 ? deadLetters.drop(letter.id) : deadLetters.replay(letter.id));
}

/** Somebody does something, somewhere. */
export async function act(people: People): Promise<void> {
  const { scheduler, fleet, journal } = people;
  const { numbers } = scheduler;
  if (numbers.below(100) < 18) return decideSome(people);
  const kind = numbers.pick<Kind>(["line", "line", "desk", "desk", "desk", "wild", "wild", "wild", "gone"]);
  const thread = `${kind}-${kind === "gone" ? 0 : numbers.below(2)}`;
  const message = `m${journal.nextName()}-${scheduler.count}`;
  const input = [{ role: "user", id: message, content: planText(makePlan(numbers, kind, message)) }] as const;
  const verbs = VERBS.filter(({ on }) => on.includes(kind));
  let at = numbers.below(verbs.reduce((sum, { weight }) => sum + weight, 0));
  const verb = verbs.find(({ weight }) => {
    at -= weight;
    return at < 0;
  });
  await verb?.act(people, { ...fleet.any(), thread, message, input });
}
