/** How many letters have to be put in, taken out, replaced or swapped. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const options = [(row[j - 1] ?? 0) + 1, (last[j] ?? 0) + 1, (last[j - 1] ?? 0) + (isSame ? 0 : 1)];
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) options.push((before[j - 2] ?? 0) + 1);
      row.push(Math.min(...options));
    }
    before = last;
    last = row;
  }
  return last[b.length] ?? 0;
}

/** Longer names are not guessed at: comparing costs the product of their lengths. */
const MAX_LENGTH = 128;

/** The known name that was probably meant. Letters of which none is right mean nothing. */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  if (name.length > MAX_LENGTH) return undefined;
  const limit = Math.min(Math.max(1, Math.floor(name.length * 0.4)), name.length - 1);
  let best: { readonly other: string; readonly steps: number } | undefined;
  for (const other of known) {
    if (Math.abs(other.length - name.length) > limit) continue;
    const steps = distance(name, other);
    if (steps <= limit && (best === undefined || steps < best.steps)) best = { other, steps };
  }
  return best?.other;
}

/** The end of a message about a name that nobody knows: `: did you mean 'tools'?`, or nothing. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const meant = nearestName(name, known);
  return meant === undefined ? "" : `: did you mean '${meant}'?`;
}
