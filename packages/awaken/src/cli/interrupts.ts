import { EXIT } from "./exit-codes.ts";

export interface Interrupts extends Disposable {
  readonly signal: AbortSignal;
}

const LONG_MS = 2 ** 30;
/** A terminal tells the whole group, and npx tells its child once more: that is still one Ctrl-C. */
const REPEAT_MS = 200;

/** The first Ctrl-C aborts the signal, the second one ends the process. Until it is disposed of, the process stays for it. */
export function catchInterrupts(onFirst: () => void): Interrupts {
  const controller = new AbortController();
  let firstAt = 0;
  const listen = () => {
    if (!controller.signal.aborted) {
      firstAt = performance.now();
      controller.abort();
      onFirst();
    } else if (performance.now() - firstAt > REPEAT_MS) process.exit(EXIT.interrupted);
  };
  process.on("SIGINT", listen);
  // Stores wait for news with timers that let a process end.
  const stay = setInterval(() => {}, LONG_MS);
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      clearInterval(stay);
      process.off("SIGINT", listen);
    },
  };
}
