import { AwakenError } from "@awaken/contract";
import type { AttachedEvent, AttachedIterator, AttachOptions, RunResult, ScopedRuntime } from "@awaken/runtime";
import type { WrittenEvents } from "../http/event-writer.ts";
import { viewAttached } from "./views.ts";

type Events = AsyncIterator<AttachedEvent, undefined> & WrittenEvents;

const ENDED: IteratorReturnResult<undefined> = { done: true, value: undefined };

/** Events of which the first was asked for already. */
class Opened implements Events {
  readonly #events: AttachedIterator;
  readonly #isLast: (event: AttachedEvent) => boolean | Promise<boolean>;
  #first: Promise<IteratorResult<AttachedEvent>> | undefined;
  #isOver = false;

  constructor(
    events: AttachedIterator,
    first: Promise<IteratorResult<AttachedEvent>>,
    isLast: (event: AttachedEvent) => boolean | Promise<boolean>,
  ) {
    this.#events = events;
    this.#first = first;
    this.#isLast = isLast;
  }

  next(): Promise<IteratorResult<AttachedEvent, undefined>> {
    if (this.#isOver) return this.return();
    const asked = this.#first ?? this.#events.next();
    return asked.then((next) => {
      this.#first = undefined;
      if (next.done) return ENDED;
      const isLast = this.#isLast(next.value);
      return typeof isLast === "boolean" ? this.#told(next.value, isLast) : isLast.then((is) => this.#told(next.value, is));
    });
  }

  #told(event: AttachedEvent, isLast: boolean): IteratorYieldResult<AttachedEvent> {
    this.#isOver ||= isLast;
    return { done: false, value: viewAttached(event) };
  }

  take(): AttachedEvent | undefined {
    const event = this.#isOver || this.#first !== undefined ? undefined : this.#events.take();
    if (event === undefined) return undefined;
    const isLast = this.#isLast(event);
    if (typeof isLast === "boolean") {
      this.#isOver = isLast;
      return viewAttached(event);
    }
    // Whether it is the last one has to be waited for.
    isLast.catch(() => {});
    this.#first = Promise.resolve({ done: false, value: event });
    return undefined;
  }

  return(): Promise<IteratorResult<AttachedEvent, undefined>> {
    this.#isOver = true;
    return this.#events.return();
  }
}

const isEmpty = (head: unknown): boolean => typeof head === "object" && head !== null && "done" in head && head.done === true;

export interface OpenOptions extends AttachOptions {
  /** After this one the stream ends. Default: none. */
  readonly isLast?: (event: AttachedEvent) => boolean | Promise<boolean>;
  /** The result of the run that is followed. It rejects when nothing will come. */
  readonly begun?: Promise<RunResult>;
}

/** A run whose store kept nothing of it failed, and no log will ever say so. */
export function refuseUnkept(result: RunResult | undefined): void {
  if (result?.status !== "failed") return;
  const { code, message } = result.error;
  for (const unkept of ["storage_io", "commit_unknown"] as const) if (code === unkept) throw new AwakenError(unkept, message);
}

const isMissing = (thrown: unknown): boolean => AwakenError.is(thrown) && thrown.code === "run_not_found";

/** Follows a run that is over: what it told behind the reader's place, or undefined when he has all of it. */
export async function openEnded(runtime: Pick<ScopedRuntime, "attach">, id: string, attach: AttachOptions): Promise<Events | undefined> {
  const caughtUp = Promise.withResolvers<undefined>();
  const events = runtime.attach(id, { ...attach, onCaughtUp: () => caughtUp.resolve(undefined) })[Symbol.asyncIterator]();
  const first = events.next();
  const head = await Promise.race([first, caughtUp.promise]);
  if (head !== undefined) return head.done ? undefined : new Opened(events, first, () => false);
  // He has all of it, and whoever follows would wait for what never comes.
  first.catch(() => {});
  await events.return?.();
  return undefined;
}

/** Follows a run or thread. Resolves when there is something to tell or to wait for; whatever is refused is refused here. */
export async function openEvents(runtime: ScopedRuntime, id: string, options: OpenOptions = {}): Promise<Events> {
  const { isLast = () => false, begun, ...attach } = options;
  const caughtUp = begun === undefined ? Promise.withResolvers<void>() : undefined;
  const onCaughtUp = caughtUp && { onCaughtUp: caughtUp.resolve };
  const events = runtime.attach(id, { ...attach, ...onCaughtUp })[Symbol.asyncIterator]();
  const first = events.next();
  // Whoever reads on is told of it again.
  first.catch(() => {});
  try {
    const head = await Promise.race([first, begun ?? caughtUp?.promise]);
    // It ended before anything was told of it: it is on record, or nowhere.
    const hasFailed = head !== undefined && "status" in head && head.status === "failed";
    // Nobody follows a run that could not begin: why it could not is told by the run.
    if (isEmpty(hasFailed ? await first : head)) refuseUnkept(await begun);
  } catch (thrown) {
    await events.return?.();
    // What was not found may not have begun: the run says why. Whatever else fails is told at once, the run may take its time.
    if (isMissing(thrown)) refuseUnkept(await begun);
    throw thrown;
  }
  return new Opened(events, first, isLast);
}
