import { checkOptions, type PartRules, partRule, RULES, type ScopeId } from "@awaken/contract";
import type { AttachedEvent, AttachOptions } from "./attached-event.ts";
import type { Relays } from "./relays.ts";

/** From whatever realm it comes. */
const isSignal = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "aborted" in value && "addEventListener" in value;

const ATTACH_OPTIONS: PartRules<AttachOptions> = {
  after: partRule("the cursor of an event", (value) => typeof value === "string"),
  from: RULES.oneOf("start", "now"),
  onCaughtUp: RULES.code,
  signal: partRule("an AbortSignal", isSignal),
};

/** Follows a run or a thread: what is on record, then what happens. Whoever leaves changes nothing but that. */
export function attach(relays: Relays, scopeId: ScopeId, id: string, options: AttachOptions = {}): AsyncIterable<AttachedEvent> {
  return { [Symbol.asyncIterator]: () => open((leaving) => enter(relays, scopeId, id, options, leaving)) };
}

function open(begin: (leaving: AbortSignal) => AsyncGenerator<AttachedEvent, void, undefined>): AsyncIterator<AttachedEvent, undefined> {
  const leaving = new AbortController();
  const reading = begin(leaving.signal);
  return {
    next: async () => {
      const next = await reading.next();
      return next.done ? { done: true, value: undefined } : next;
    },
    return: async () => {
      // Whoever waits for the next event is let go.
      leaving.abort();
      await reading.return();
      return { done: true, value: undefined };
    },
  };
}

async function* enter(
  ...[relays, scopeId, id, options, leaving]: [Relays, ScopeId, string, AttachOptions, AbortSignal]
): AsyncGenerator<AttachedEvent, void, undefined> {
  checkOptions("invalid_activation", "attach", options, ATTACH_OPTIONS);
  const relay = relays.enter(scopeId);
  try {
    // Most programs follow nobody: what it takes is loaded with the first who does.
    const { follow } = await import("./follow.ts");
    yield* follow(relay, id, options, leaving);
  } finally {
    relays.exit(scopeId);
  }
}
