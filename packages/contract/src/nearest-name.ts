/** How many letters have to be put in, taken out, replaced or swapped; more than `most` when it is more than that. */
function distance(a: string, b: string, most: number): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    let least = i;
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      let steps = Math.min((row[j - 1] ?? 0) + 1, (last[j] ?? 0) + 1, (last[j - 1] ?? 0) + (isSame ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) steps = Math.min(steps, (before[j - 2] ?? 0) + 1);
      row.push(steps);
      if (steps < least) least = steps;
    }
    // A swap reaches back over one row, and adds a step to what stands there.
    if (least > most + 1) return least;
    before = last;
    last = row;
  }
  return last[b.length] ?? 0;
}

/** Longer names are not guessed at: comparing costs the product of their lengths. */
const MAX_LENGTH = 128;
/** All comparisons together: a wrong name among many thousand keeps nobody waiting. */
const MAX_PRODUCT = 2_000_000;

/** The known name that was probably meant. Letters of which none is right mean nothing. */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  if (name.length > MAX_LENGTH) return undefined;
  const limit = Math.min(Math.max(1, Math.floor(name.length * 0.4)), name.length - 1);
  let nearest: string | undefined;
  let most = limit;
  let product = 0;
  for (const other of known) {
    if (Math.abs(other.length - name.length) > most) continue;
    product += other.length * name.length;
    if (product > MAX_PRODUCT) break;
    const steps = distance(name, other, most);
    if (steps > most) continue;
    nearest = other;
    if (steps === 1) break;
    most = steps - 1;
  }
  return nearest;
}

/** The end of a message about a name that nobody knows: `: did you mean 'tools'?`, or nothing. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const meant = nearestName(name, known);
  return meant === undefined ? "" : `: did you mean '${meant}'?`;
}
