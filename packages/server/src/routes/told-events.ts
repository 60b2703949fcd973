import type { AttachedEvent, ScopedRuntime } from "@awaken/runtime";
import type { Tenant } from "./served.ts";
import { viewAttached } from "./views.ts";

/** What is on record of a run or thread, and what comes after it. */
export interface ToldEvents {
  readonly past: readonly AttachedEvent[];
  /** Goes on behind `past`; whoever leaves it ends it. */
  readonly coming: AsyncIterator<AttachedEvent, undefined>;
}

/** Reads all that is on record, and goes on from there without a gap. */
export async function tellEvents(runtime: ScopedRuntime, id: string): Promise<ToldEvents> {
  const caughtUp = Promise.withResolvers<"now">();
  const events = runtime.attach(id, { onCaughtUp: () => caughtUp.resolve("now") })[Symbol.asyncIterator]();
  const past: AttachedEvent[] = [];
  let head: Promise<IteratorResult<AttachedEvent>> | undefined = events.next();
  for (;;) {
    const next = await Promise.race([head, caughtUp.promise]);
    if (next === "now") break;
    if (next.done) {
      head = Promise.resolve(next);
      break;
    }
    past.push(viewAttached(next.value));
    head = events.next();
  }
  // Whoever reads on is told of it again.
  head.catch(() => {});
  return { past, coming: going(events, head) };
}

function going(
  events: AsyncIterator<AttachedEvent>,
  first: Promise<IteratorResult<AttachedEvent>>,
): AsyncIterator<AttachedEvent, undefined> {
  let head: Promise<IteratorResult<AttachedEvent>> | undefined = first;
  return {
    async next() {
      const next = await (head ?? events.next());
      head = undefined;
      return next.done ? { done: true, value: undefined } : { done: false, value: viewAttached(next.value) };
    },
    async return() {
      await events.return?.();
      return { done: true, value: undefined };
    },
  };
}

const ENDED: IteratorReturnResult<undefined> = { done: true, value: undefined };

export interface UntilOptions {
  readonly isLast: (event: AttachedEvent) => boolean;
  /** Told first. */
  readonly past?: readonly AttachedEvent[];
  /** Ends it, too, once it resolves to true. */
  readonly over?: Promise<boolean>;
}

/** Events up to the last that is wanted. */
export function until(
  coming: AsyncIterator<AttachedEvent>,
  { isLast, past = [], over }: UntilOptions,
): AsyncIterator<AttachedEvent, undefined> {
  const told = past[Symbol.iterator]();
  let isOver = false;
  // What is decided to be over is looked at with each event; what is not never ends the race.
  const end = over?.then((is) => (is ? ENDED : new Promise<never>(() => {})));
  end?.catch(() => {});
  const leave = async (): Promise<IteratorReturnResult<undefined>> => {
    isOver = true;
    await coming.return?.();
    return ENDED;
  };
  return {
    async next() {
      if (isOver) return leave();
      const before = told.next();
      const next = before.done ? await (end === undefined ? coming.next() : Promise.race([coming.next(), end])) : before;
      if (next.done) return leave();
      if (isLast(next.value)) isOver = true;
      return { done: false, value: next.value };
    },
    return: leave,
  };
}

/** The end of a run that waits, with all that can be decided now: its own tickets, and those of the runs below it. */
export async function withTickets({ records }: Tenant, event: AttachedEvent): Promise<AttachedEvent> {
  if (event.type !== "run-end" || event.result.status !== "waiting") return event;
  const known = new Set(event.tickets.map(({ id }) => id));
  const below = (await records.runs.listOpenTickets(event.runId)).filter(({ id, runId }) => runId !== event.runId && !known.has(id));
  return below.length === 0 ? event : { ...event, tickets: [...event.tickets, ...below] };
}

/** The same of all that comes. */
export const telling = (tenant: Tenant, events: AsyncIterator<AttachedEvent>): AsyncIterator<AttachedEvent> => ({
  async next() {
    const next = await events.next();
    return next.done || next.value.type !== "run-end" ? next : { done: false, value: await withTickets(tenant, next.value) };
  },
  return: async () => (await events.return?.()) ?? { done: true, value: undefined },
});
