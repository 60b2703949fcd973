interface Waits<T> {
  readonly status: "waiting";
  /** One for each call that waits. */
  readonly tickets: readonly T[];
}

interface WaitsNot {
  /** Any other end. */
  readonly status: string;
  /** Only a run that waits has them. */
  readonly tickets?: never;
}

/** The tickets of a run that waits. Throws, with what became of it instead, when it does not. */
export function ticketsOf<T>(result: Waits<T> | WaitsNot): readonly T[] {
  if (result.tickets !== undefined) return result.tickets;
  throw new Error(`the run does not wait: ${JSON.stringify(result)}`);
}
