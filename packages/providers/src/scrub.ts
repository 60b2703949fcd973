const MASK = "***";
/** Shorter ones are placeholders ("x", "-"); replacing them would only garble texts. */
const MIN_LENGTH = 4;
const MAX_DEPTH = 5;

/** Takes known secrets out of a text. */
export type Scrub = (text: string) => string;

/** As it was given, as a header carries it, and as URLs and JSON write it. */
const formsOf = (secret: string): string[] => [secret, secret.trim(), encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)];

export function createScrub(secrets: readonly string[]): Scrub {
  const forms = secrets.filter((secret) => secret.trim().length >= MIN_LENGTH).flatMap(formsOf);
  const longestFirst = [...new Set(forms)].sort((a, b) => b.length - a.length);
  return (text) => longestFirst.reduce((clean, secret) => clean.replaceAll(secret, MASK), text);
}

/** As `createScrub`, for secrets that are looked for when there is a text to clean. */
export function lazyScrub(find: () => readonly string[]): Scrub {
  let scrub: Scrub | undefined;
  return (text) => {
    scrub ??= createScrub(find());
    return scrub(text);
  };
}

function readCause(thrown: Error): unknown {
  if (thrown.cause !== undefined) return thrown.cause;
  return thrown instanceof AggregateError ? thrown.errors[0] : undefined;
}

/**
 * A copy of what was thrown that is fit for logs: names, texts, stacks and causes without secrets. The vendor's own error
 * stays out, because it holds the whole request, the response headers and whatever the server echoed.
 */
export function toSafeCause(thrown: unknown, scrub: Scrub, depth = 0): Error | undefined {
  if (!(thrown instanceof Error)) return undefined;
  const inner = depth < MAX_DEPTH ? toSafeCause(readCause(thrown), scrub, depth + 1) : undefined;
  const copy = new Error(scrub(thrown.message), inner === undefined ? undefined : { cause: inner });
  copy.name = thrown.name;
  if (thrown.stack !== undefined) copy.stack = scrub(thrown.stack);
  return copy;
}
