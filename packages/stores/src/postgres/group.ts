import { Attempt, type Finish, perform, type Tx, WHOLE } from "./attempt.ts";
import type { Connections, Lease } from "./connections.ts";
import { commitUnknown } from "./errors.ts";
import { Gathering } from "./gathering.ts";
import { type ThreadKey, tryLockThreads } from "./locks.ts";
import { bytesOf } from "./shelf.ts";
import type { Statement } from "./statement.ts";

/** Writes that were planned without asking. They fail unless their thread is locked and all is as it was planned, and wait for nobody. */
export interface Guess<T> extends ThreadKey {
  /** Whether it looks as if it could be planned. */
  canPlan(): boolean;
  /** Without the lock. Undefined when it has to ask after all. */
  plan(): Finish<T> | undefined;
}

/** So many transactions at once. A third one brought nothing on two cores and made the groups smaller. */
const LANES = 2;
/** Of one transaction: whoever is in it waits for all of it. */
const MAX_COUNT = 16;
const MAX_BYTES = 256 * 1024;

const ignore = () => {};

/** A piece of work from when it is asked for until it is told how it ended. */
class Member<T> {
  readonly guess: Guess<T>;
  readonly landed: Promise<T>;
  readonly #work: (tx: Tx) => Promise<Finish<T>>;
  readonly #settle: PromiseWithResolvers<T>;
  #finish: Finish<T> | undefined;

  constructor(guess: Guess<T>, work: (tx: Tx) => Promise<Finish<T>>) {
    this.guess = guess;
    this.#work = work;
    this.#settle = Promise.withResolvers<T>();
    this.landed = this.#settle.promise;
  }

  /** What it would write now; undefined when it has to ask, or fails, which its own work will tell. */
  plan(): readonly Statement[] | undefined {
    try {
      this.#finish = this.guess.plan();
    } catch {
      this.#finish = undefined;
    }
    return this.#finish?.writes;
  }

  /** What was planned is durable. */
  land(): void {
    if (this.#finish !== undefined) this.#end(this.#finish);
  }

  fail(thrown: unknown): void {
    this.#settle.reject(thrown);
  }

  /** In a transaction of its own. `onAsk` is called before it asks, which may take as long as somebody else has its thread. */
  async doAlone(lease: Lease, onAsk: () => void = ignore): Promise<void> {
    const work = (tx: Tx): Promise<Finish<T>> =>
      this.#work({
        read: (...statements) => {
          onAsk();
          return tx.read(...statements);
        },
      });
    try {
      this.#end(await perform(lease, WHOLE, work));
    } catch (thrown) {
      this.fail(thrown);
    }
  }

  #end({ tell, result }: Finish<T>): void {
    try {
      tell?.();
      this.#settle.resolve(result);
    } catch (thrown) {
      this.fail(thrown);
    }
  }
}

type AnyMember = Pick<Member<unknown>, "guess" | "plan" | "land" | "fail" | "doAlone">;

interface Taken {
  readonly planned: readonly AnyMember[];
  readonly writes: readonly Statement[];
  /** They have to ask. */
  readonly others: readonly AnyMember[];
}

/** As many as fit. */
function take(waiting: AnyMember[]): Taken {
  const planned: AnyMember[] = [];
  const others: AnyMember[] = [];
  const writes: Statement[] = [];
  for (let bytes = 0; planned.length < MAX_COUNT && bytes < MAX_BYTES; ) {
    const member = waiting.shift();
    if (member === undefined) break;
    const own = member.plan();
    (own === undefined ? others : planned).push(member);
    writes.push(...(own ?? []));
    for (const { values } of own ?? []) bytes += bytesOf(values);
  }
  return { planned, writes, others };
}

/**
 * Commits of several threads in one transaction, one of each thread: one trip, and one wait for the disk. When something of it is refused
 * nothing of it is there, and each is done again alone, which also gives it the error that is its own.
 */
export class Groups {
  readonly #connections: Connections;
  readonly #gathering: Gathering<AnyMember>;
  /** Of threads that are at work here, those who come next. */
  readonly #lines = new Map<string, AnyMember[]>();

  constructor(connections: Connections) {
    this.#connections = connections;
    this.#gathering = new Gathering({ lanes: LANES, work: (...given) => this.#work(...given) });
  }

  /** In a group, or alone at once when it has to ask; but behind what is under way on its thread. */
  async join<T>(guess: Guess<T>, work: (tx: Tx) => Promise<Finish<T>>): Promise<T> {
    const member = new Member(guess, work);
    const key = `${guess.scopeId}\u001f${guess.threadId}`;
    const line = this.#lines.get(key);
    if (line === undefined && !guess.canPlan()) {
      void this.#alone(member);
      return member.landed;
    }
    if (line === undefined) {
      this.#lines.set(key, []);
      this.#gathering.add(member);
    } else line.push(member);
    try {
      return await member.landed;
    } finally {
      this.#next(key);
    }
  }

  #next(key: string): void {
    const next = this.#lines.get(key)?.shift();
    if (next === undefined) this.#lines.delete(key);
    else this.#gathering.add(next);
  }

  async #work(waiting: AnyMember[], hasTaken: () => void, leave: () => void): Promise<void> {
    let isTaken = false;
    const begin = () => {
      isTaken = true;
      hasTaken();
    };
    let again: readonly AnyMember[] = [];
    try {
      again = await this.#connections.lend(async (lease) => {
        const [first, second] = waiting;
        if (first !== undefined && second === undefined) {
          waiting.length = 0;
          begin();
          await first.doAlone(lease, leave);
          return [];
        }
        const taken = take(waiting);
        begin();
        return together(lease, taken);
      });
    } catch (thrown) {
      // There is no connection.
      if (!isTaken) for (const member of waiting.splice(0, MAX_COUNT)) member.fail(thrown);
      if (!isTaken) begin();
    }
    for (const member of again) void this.#alone(member);
  }

  async #alone(member: AnyMember): Promise<void> {
    await this.#connections.lend((lease) => member.doAlone(lease)).catch((thrown: unknown) => member.fail(thrown));
  }
}

/** Gives those who have to do it again. */
async function together(lease: Lease, { planned, writes, others }: Taken): Promise<readonly AnyMember[]> {
  if (planned.length === 0) return others;
  const attempt = new Attempt(lease, WHOLE);
  try {
    await attempt.finish([tryLockThreads(planned.map(({ guess }) => guess)), ...writes]);
  } catch (thrown) {
    await attempt.rollBack();
    if (!lease.isLost || !lease.hasSent) return [...planned, ...others];
    for (const member of planned) member.fail(commitUnknown(thrown));
    return others;
  }
  for (const member of planned) member.land();
  return others;
}
