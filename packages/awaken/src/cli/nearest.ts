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

/** The known name that was probably meant. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const limit = Math.max(1, Math.floor(name.length * 0.4));
  const [best] = known.map((other) => ({ other, steps: distance(name, other) })).sort((a, b) => a.steps - b.steps);
  return best !== undefined && best.steps <= limit ? best.other : undefined;
}
