import { type Finish, perform, type Tx, WHOLE } from "./attempt.ts";
import type { Connections, Lease } from "./connections.ts";
import { Gathering } from "./gathering.ts";
import type { ThreadKey } from "./locks.ts";

/** So many transactions at once. A third one brought nothing on two cores and made the groups smaller. */
const LANES = 2;
/** Of one transaction: whoever is in it waits for all of it. */
const MAX_COUNT = 16;
/** While another transaction may begin: this process works on what follows one while the server is at work on the other (a fifth more runs a second). */
const MAX_BESIDE = 8;

const ignore = () => {};

/** A piece of work on a thread, from when it is asked for until it is told how it ended. */
export class Member<T> {
  readonly thread: ThreadKey;
  readonly landed: Promise<T>;
  /** What was planned in a group. */
  protected finish: Finish<T> | undefined;
  readonly #work: (tx: Tx) => Promise<Finish<T>>;
  readonly #settle: PromiseWithResolvers<T>;

  /** `work` is what it does alone. */
  constructor(thread: ThreadKey, work: (tx: Tx) => Promise<Finish<T>>) {
    this.thread = thread;
    this.#work = work;
    this.#settle = Promise.withResolvers<T>();
    this.landed = this.#settle.promise;
  }

  /** What was planned is durable. */
  land(): void {
    if (this.finish !== undefined) this.#end(this.finish);
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
        look: (statement) => {
          onAsk();
          return tx.look(statement);
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

type AnyMember = Pick<Member<unknown>, "thread" | "landed" | "land" | "fail" | "doAlone">;

export interface GroupsInit<M> {
  readonly connections: Connections;
  /** In one transaction: takes up to `max` out of those that wait, then says so; gives those that have to be done again, alone. */
  readonly together: (lease: Lease, waiting: M[], max: number, hasTaken: () => void) => Promise<readonly M[]>;
}

/**
 * Work on several threads in one transaction, one piece of each thread: one trip where there were many, and one wait for the disk. When
 * something of it is refused nothing of it is there, and each is done again alone, which also gives it the error that is its own.
 */
export class Groups<M extends AnyMember> {
  readonly #init: GroupsInit<M>;
  readonly #gathering: Gathering<M>;
  /** Of threads that are at work here, those who come next. */
  readonly #lines = new Map<string, M[]>();

  constructor(init: GroupsInit<M>) {
    this.#init = init;
    this.#gathering = new Gathering({ lanes: LANES, work: (...given) => this.#work(...given) });
  }

  /** In a group, or alone at once unless it `canShare`; but behind what is under way on its thread. Settled when the member is. */
  async join(member: M, canShare: () => boolean): Promise<void> {
    const { scopeId, threadId } = member.thread;
    const key = `${scopeId}\u001f${threadId}`;
    const line = this.#lines.get(key);
    if (line === undefined && !canShare()) return this.#alone(member);
    if (line === undefined) {
      this.#lines.set(key, []);
      this.#gathering.add(member);
    } else line.push(member);
    await member.landed.catch(ignore);
    const next = this.#lines.get(key)?.shift();
    if (next === undefined) this.#lines.delete(key);
    else this.#gathering.add(next);
  }

  async #work(waiting: M[], hasTaken: () => void, leave: () => void): Promise<void> {
    // Who comes later has not waited as long for a connection.
    const { length } = waiting;
    let isTaken = false;
    const begin = () => {
      isTaken = true;
      hasTaken();
    };
    let again: readonly M[] = [];
    try {
      again = await this.#init.connections.lend(async (lease) => {
        const [first, second] = waiting;
        const max = this.#gathering.isFull ? MAX_COUNT : MAX_BESIDE;
        if (first === undefined || second !== undefined) return this.#init.together(lease, waiting, max, begin);
        waiting.length = 0;
        begin();
        await first.doAlone(lease, leave);
        return [];
      });
    } catch (thrown) {
      // There is no connection.
      if (!isTaken) for (const member of waiting.splice(0, length)) member.fail(thrown);
      if (!isTaken) begin();
    }
    for (const member of again) void this.#alone(member);
  }

  async #alone(member: M): Promise<void> {
    await this.#init.connections.lend((lease) => member.doAlone(lease)).catch((thrown: unknown) => member.fail(thrown));
  }
}
