/** This process, as others know it, and what it knows about others. */
export interface NodeIdentity {
  /** Unique among all processes and runtimes that share the store. */
  readonly name: string;
  /** Whether the process of this name is known to be gone: its leases are over at once. False when nobody here can tell. */
  isGone(name: string): boolean;
}

/** Of a host that knows nothing about processes: only leases tell who is gone. */
export const plainNode = (id: string): NodeIdentity => ({ name: `runtime:${id}`, isGone: () => false });
