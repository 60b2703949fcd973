import { EXIT } from "./exit-codes.ts";

export interface Interrupts extends Disposable {
  readonly signal: AbortSignal;
  /** What a process says that ends because of the signal that came first. */
  readonly exitCode: number;
}

const EXIT_CODES = { SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated, SIGHUP: EXIT.hungUp } as const;
type Signal = keyof typeof EXIT_CODES;
const SIGNALS: readonly Signal[] = ["SIGINT", "SIGTERM", "SIGHUP"];

const LONG_MS = 2 ** 30;
/** A terminal tells the whole group, and npx tells its child once more: that is still one Ctrl-C. */
const REPEAT_MS = 200;

/**
 * The first Ctrl-C, SIGTERM or SIGHUP aborts the signal, the second one ends the process. Until it is disposed of, the process stays
 * for it.
 */
export function catchInterrupts(onFirst: () => void): Interrupts {
  const controller = new AbortController();
  let firstAt = 0;
  let exitCode: number = EXIT.interrupted;
  const listen = (signal: NodeJS.Signals) => {
    const code = SIGNALS.find((known) => known === signal) ?? "SIGINT";
    if (!controller.signal.aborted) {
      firstAt = performance.now();
      exitCode = EXIT_CODES[code];
      controller.abort();
      onFirst();
    } else if (performance.now() - firstAt > REPEAT_MS) process.exit(EXIT_CODES[code]);
  };
  for (const signal of SIGNALS) process.on(signal, listen);
  // Stores wait for news with timers that let a process end.
  const stay = setInterval(() => {}, LONG_MS);
  return {
    signal: controller.signal,
    get exitCode() {
      return exitCode;
    },
    [Symbol.dispose]() {
      clearInterval(stay);
      for (const signal of SIGNALS) process.off(signal, listen);
    },
  };
}
