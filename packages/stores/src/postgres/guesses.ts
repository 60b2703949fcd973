import { Attempt, type Finish, type Tx, WHOLE } from "./attempt.ts";
import type { Connections, Lease } from "./connections.ts";
import { commitUnknown } from "./errors.ts";
import { Groups, Member } from "./group.ts";
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

const MAX_BYTES = 256 * 1024;

class Guessing<T> extends Member<T> {
  readonly #guess: Guess<T>;

  constructor(guess: Guess<T>, work: (tx: Tx) => Promise<Finish<T>>) {
    super(guess, work);
    this.#guess = guess;
  }

  /** What it would write now; undefined when it has to ask, or fails, which its own work will tell. */
  plan(): readonly Statement[] | undefined {
    try {
      this.finish = this.#guess.plan();
    } catch {
      this.finish = undefined;
    }
    return this.finish?.writes;
  }
}

type AnyGuessing = Pick<Guessing<unknown>, "thread" | "landed" | "land" | "fail" | "doAlone" | "plan">;

/** Work that was planned without asking, in one trip for all. */
export class Guesses {
  readonly #groups: Groups<AnyGuessing>;

  constructor(connections: Connections) {
    this.#groups = new Groups({ connections, together });
  }

  join<T>(guess: Guess<T>, work: (tx: Tx) => Promise<Finish<T>>): Promise<T> {
    const member = new Guessing(guess, work);
    void this.#groups.join(member, () => guess.canPlan());
    return member.landed;
  }
}

interface Taken {
  readonly planned: readonly AnyGuessing[];
  readonly writes: readonly Statement[];
  /** They have to ask. */
  readonly others: readonly AnyGuessing[];
}

/** As many as fit, up to `max`. */
function take(waiting: AnyGuessing[], max: number): Taken {
  const planned: AnyGuessing[] = [];
  const others: AnyGuessing[] = [];
  const writes: Statement[] = [];
  for (let bytes = 0; planned.length < max && bytes < MAX_BYTES; ) {
    const member = waiting.shift();
    if (member === undefined) break;
    const own = member.plan();
    (own === undefined ? others : planned).push(member);
    writes.push(...(own ?? []));
    for (const { values } of own ?? []) bytes += bytesOf(values);
  }
  return { planned, writes, others };
}

async function together(lease: Lease, waiting: AnyGuessing[], max: number, hasTaken: () => void): Promise<readonly AnyGuessing[]> {
  const { planned, writes, others } = take(waiting, max);
  hasTaken();
  if (planned.length === 0) return others;
  const attempt = new Attempt(lease, WHOLE);
  try {
    await attempt.finish([tryLockThreads(planned.map(({ thread }) => thread)), ...writes]);
  } catch (thrown) {
    const isUnknown = lease.isLost && lease.hasSent;
    await attempt.rollBack();
    if (!isUnknown) return [...planned, ...others];
    for (const member of planned) member.fail(commitUnknown(thrown));
    return others;
  }
  for (const member of planned) member.land();
  return others;
}
