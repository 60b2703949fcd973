import { numberOf, type Row } from "../sql/rows.ts";
import { Attempt, type Finish, type Tx, WHOLE } from "./attempt.ts";
import type { Connections, Lease } from "./connections.ts";
import { commitUnknown } from "./errors.ts";
import { Groups, Member } from "./group.ts";
import { lockThread, lockThreadLightly, type ThreadKey, tryLockThreadsLightly } from "./locks.ts";
import type { Statement } from "./statement.ts";

/** Work that asks one question about its thread, while nobody else has the thread, and knows then what it writes. */
export interface Asking<T> extends ThreadKey {
  question(): Statement;
  plan(rows: readonly Row[]): Finish<T>;
}

/** By itself. `isLight`: nobody has to find it again after a crash of the server. */
export async function askAlone<T>(tx: Tx, asking: Asking<T>, isLight: boolean): Promise<Finish<T>> {
  const { scopeId, threadId } = asking;
  const lock = isLight ? lockThreadLightly : lockThread;
  const [, rows = []] = await tx.read(lock(scopeId, threadId), asking.question());
  return asking.plan(rows);
}

class Asked<T> extends Member<T> {
  readonly #asking: Asking<T>;

  constructor(asking: Asking<T>) {
    super(asking, (tx) => askAlone(tx, asking, true));
    this.#asking = asking;
  }

  question(): Statement {
    return this.#asking.question();
  }

  /** What it writes after this answer; undefined when it fails, which will be told when it asks alone. */
  plan(rows: readonly Row[]): readonly Statement[] | undefined {
    try {
      this.finish = this.#asking.plan(rows);
    } catch {
      this.finish = undefined;
    }
    return this.finish?.writes;
  }
}

type AnyAsked = Pick<Asked<unknown>, "thread" | "landed" | "land" | "fail" | "doAlone" | "question" | "plan">;

/** Work that asks, in two trips for all, of which a crash of the server may take back what nobody has used yet. */
export class Askings {
  readonly #groups: Groups<AnyAsked>;

  constructor(connections: Connections) {
    this.#groups = new Groups({ connections, together });
  }

  join<T>(asking: Asking<T>): Promise<T> {
    const member = new Asked(asking);
    void this.#groups.join(member, () => true);
    return member.landed;
  }
}

async function together(lease: Lease, waiting: AnyAsked[], max: number, hasTaken: () => void): Promise<readonly AnyAsked[]> {
  const members = waiting.splice(0, max);
  hasTaken();
  const attempt = new Attempt(lease, WHOLE);
  const planned: AnyAsked[] = [];
  let isCommitting = false;
  try {
    const lock = tryLockThreadsLightly(members.map(({ thread }) => thread));
    const [locked = [], ...answers] = await attempt.read(lock, ...members.map((member) => member.question()));
    const isLocked = new Set(locked.map((row) => numberOf(row, "place")));
    const writes: Statement[] = [];
    for (const [index, member] of members.entries()) {
      const own = isLocked.has(index + 1) ? member.plan(answers[index] ?? []) : undefined;
      if (own === undefined) continue;
      planned.push(member);
      writes.push(...own);
    }
    isCommitting = writes.length > 0;
    await attempt.finish(writes);
  } catch (thrown) {
    const isUnknown = lease.isLost && lease.hasSent && isCommitting;
    await attempt.rollBack();
    if (!isUnknown) return members;
    for (const member of planned) member.fail(commitUnknown(thrown));
    return members.filter((member) => !planned.includes(member));
  }
  for (const member of planned) member.land();
  return members.filter((member) => !planned.includes(member));
}
