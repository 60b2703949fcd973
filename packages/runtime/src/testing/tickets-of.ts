interface Waits<T> {
  readonly status: "waiting";
  readonly tickets: readonly T[];
}

interface WaitsNot {
  readonly status: string;
  readonly tickets?: never;
}

/** The tickets of a run that waits. Throws, with what became of it instead, when it does not. */
export function ticketsOf<T>(result: Waits<T> | WaitsNot): readonly T[] {
  if (result.tickets !== undefined) return result.tickets;
  throw new Error(`the run does not wait: ${JSON.stringify(result)}`);
}
