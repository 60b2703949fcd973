/** Remembers who began what, behind awaits too. An `AsyncLocalStorage` of Node is one. */
export interface Trail {
  /** Does the work, all of which finds `begunBy`. */
  run<T>(begunBy: object, work: () => T): T;
  /** What the code that asks was begun by. */
  getStore(): object | undefined;
}

/** This process, as others know it, and what it knows about others. */
export interface NodeIdentity {
  /** Unique among all processes and runtimes that share the store. */
  readonly name: string;
  /** Whether the process of this name is known to be gone: its leases are over at once. False when nobody here can tell. */
  isGone(name: string): boolean;
  /** How a tool that waits for another run is known to have a worker's place meanwhile; for one runtime alone. Absent where the host cannot tell. */
  readonly trail?: Trail;
}

/** Of a host that knows nothing about processes: only leases tell who is gone. */
export const plainNode = (id: string): NodeIdentity => ({ name: `runtime:${id}`, isGone: () => false });
