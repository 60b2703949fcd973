import { AwakenError } from "@awaken/contract";
import type { LiveStore, QueueStore } from "@awaken/contract/store";
import type { Lane } from "./scheduler.ts";

/** How often the store fails, from 0 to 1: changed while it is used. */
export interface Trouble {
  store: number;
}

const PORTS: ReadonlySet<string> = new Set([
  ...["threads", "messages", "runs", "events", "streamCheckpoints", "ledger", "wishes", "profiles", "config", "pending", "dispatches"],
  "queue",
]);
/** They answer at once, with something that is read later. */
const AT_ONCE: ReadonlySet<string> = new Set(["watch", "close"]);
const READS = /^(load|list|count|next|stats)/;

/** The store as one process sees it: each call sets out, and comes back, when the scheduler says so, or fails, or is done and its answer is lost. */
export function heldStore(store: QueueStore, lane: Lane, trouble: Trouble): QueueStore {
  const { numbers } = lane.scheduler;

  const call = async (name: string, work: () => Promise<unknown>, isInside: boolean): Promise<unknown> => {
    const roll = numbers.next();
    if (roll < trouble.store) lane.scheduler.tell(`${lane.name} ${name} will fail`);
    const hold = isInside ? holdInside : (at: string) => lane.hold(at);
    await hold(`${name} asks`);
    if (roll < trouble.store / 2) throw new AwakenError("storage_io", `the cable was cut before ${name}`);
    const [answer] = await Promise.allSettled([work()]);
    await hold(`${name} answers`);
    if (roll < trouble.store) throw lost(name, isInside);
    if (answer.status === "rejected") throw answer.reason;
    return answer.value;
  };

  /** A transaction whose process is gone is rolled back. */
  const holdInside = (name: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const cut = () => reject(new AwakenError("storage_io", "the process is gone"));
      if (lane.cut.aborted) return cut();
      lane.cut.addEventListener("abort", cut, { once: true });
      lane.later(name, () => {
        lane.cut.removeEventListener("abort", cut);
        resolve();
      });
    });

  const wrap = <T extends object>(target: T, path: string, isInside: boolean): T =>
    new Proxy(target, {
      get(_, key, receiver) {
        const value: unknown = Reflect.get(target, key, receiver);
        const name = `${path}${String(key)}`;
        if (path === "" && key === "live" && store.live !== undefined) return heldLive(store.live, lane);
        if (path === "" && PORTS.has(name) && typeof value === "object" && value !== null) return wrap(value, `${name}.`, isInside);
        if (typeof value !== "function") return value;
        if (typeof key !== "string" || AT_ONCE.has(key)) return value.bind(target);
        if (key === "scoped") return (...args: unknown[]) => wrap(Reflect.apply(value, target, args), "", isInside);
        if (key === "hints") return (...args: unknown[]) => heldHints(Reflect.apply(value, target, args), lane);
        if (key === "transaction") {
          return (work: (ports: object) => Promise<unknown>) =>
            call(name, () => Reflect.apply(value, target, [(ports: object) => work(wrap(ports, "", true))]), isInside);
        }
        return (...args: unknown[]) => call(`${name}${aboutOf(args)}`, () => Reflect.apply(value, target, args), isInside);
      },
    });
  return wrap(store, "", false);
}

/** The thread or run that a call is about, as far as one can see. */
function aboutOf([first]: readonly unknown[]): string {
  const about: unknown =
    typeof first === "object" && first !== null ? (Reflect.get(first, "threadId") ?? Reflect.get(first, "runId")) : first;
  return typeof about === "string" ? ` ${about}` : "";
}

const lost = (name: string, isInside: boolean): AwakenError =>
  new AwakenError(
    isInside || READS.test(name.slice(name.indexOf(".") + 1)) ? "storage_io" : "commit_unknown",
    `the cable was cut after ${name}`,
  );

/** Hints come late, and now and then not at all. */
async function* heldHints<T>(hints: AsyncIterable<T>, lane: Lane): AsyncGenerator<T, void, undefined> {
  for await (const hint of hints) {
    if (lane.scheduler.numbers.below(20) === 0) continue;
    await lane.hold("hint");
    yield hint;
  }
}

/** Whoever listens hears it later, in the order in which it was said. */
function heldLive(live: LiveStore, lane: Lane): LiveStore {
  const inOrder = <T>(name: string, tell: (item: T) => void) => {
    const waiting: T[] = [];
    let isOver = false;
    return {
      hear(item: T) {
        waiting.push(item);
        lane.later(name, () => {
          const [next] = waiting.splice(0, 1);
          if (next !== undefined && !isOver) tell(next);
        });
      },
      end() {
        isOver = true;
      },
    };
  };
  return {
    send: (parcel) => live.send(parcel),
    follow(scope, wake) {
      const ear = inOrder<true>("wakes", wake);
      const off = live.follow(scope, () => ear.hear(true));
      return () => {
        ear.end();
        off();
      };
    },
    listen(receive) {
      const ear = inOrder("parcel", receive);
      const off = live.listen((parcel) => ear.hear(parcel));
      return () => {
        ear.end();
        off();
      };
    },
  };
}
