/** A difference of times is an object of its own for the engine, whatever it comes to, unless it is told that it is a small number. */
export function small(ms: number): number {
  const whole = ms | 0;
  return whole === ms ? whole : ms;
}
