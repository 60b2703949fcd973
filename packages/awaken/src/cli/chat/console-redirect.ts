import { format } from "node:util";
import { errorMessage } from "@awaken/contract";

const METHODS = ["log", "info", "debug", "warn", "error"] as const;

function text(values: readonly unknown[]): string {
  try {
    return format(...values);
  } catch (thrown) {
    return errorMessage(thrown);
  }
}

/** While a screen is drawn, what tools and the runtime print would tear it: it is told instead. Undone when it is disposed of. */
export function redirectConsole(tell: (text: string) => void): Disposable {
  const kept = METHODS.map((method) => [method, console[method]] as const);
  for (const method of METHODS) console[method] = (...values: readonly unknown[]) => tell(text(values));
  return {
    [Symbol.dispose]() {
      for (const [method, original] of kept) console[method] = original;
    },
  };
}
