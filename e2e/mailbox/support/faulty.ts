import { AwakenError } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";

export interface Fault {
  /** The call that fails, from 0. */
  readonly at: number;
  /** Nothing was done; it was done, and the answer is lost; no answer comes until the store is mended. */
  readonly how: "before" | "after" | "hang";
}

const PORTS: ReadonlySet<string> = new Set(["threads", "runs", "messages", "wishes", "pending", "dispatches"]);
const CALLS: ReadonlySet<string> = new Set(["commit", "transaction"]);

/** A store whose calls are counted, also those inside of transactions, and of which one fails. */
export function faulty(store: QueueStore, { at, how }: Fault) {
  let calls = 0;
  let isMended = false;
  const mending = Promise.withResolvers<void>();
  const call = async (work: () => Promise<unknown>, isInside: boolean): Promise<unknown> => {
    if (isMended || calls++ !== at) return work();
    if (how === "hang") {
      await mending.promise;
      return work();
    }
    // Inside of a transaction everything is undone.
    if (how === "after" && !isInside) await work();
    throw new AwakenError(how === "after" && !isInside ? "commit_unknown" : "storage_io", "the cable was cut");
  };
  const wrap = <T extends object>(port: T, isInside: boolean, names?: ReadonlySet<string>): T =>
    new Proxy(port, {
      get(target, name, receiver) {
        const value: unknown = Reflect.get(target, name, receiver);
        if (typeof name === "string" && PORTS.has(name) && typeof value === "object" && value !== null) return wrap(value, isInside);
        if (typeof value !== "function" || (names !== undefined && !names.has(String(name)))) return value;
        if (name === "transaction") {
          return (work: (ports: object) => Promise<unknown>) =>
            call(() => Reflect.apply(value, target, [(ports: object) => work(wrap(ports, true, CALLS))]), isInside);
        }
        return (...args: unknown[]) => call(() => Reflect.apply(value, target, args), isInside);
      },
    });
  return {
    store: wrap(store, false, CALLS),
    mend: () => {
      isMended = true;
      mending.resolve();
    },
    hasFailed: () => calls > at,
  };
}
