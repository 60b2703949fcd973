import type { Clock, ProgressReport } from "@awaken/runtime";

const EVERY_MS = 100;
/** A little less than one per cent: the differences of what is divided are not exact. */
const STEP = 0.01 - 1e-9;

interface Progress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** Passes on what is news: 100 ms went by, or one per cent, or another message, or it is done. */
export function throttledProgress(clock: Clock, report: (report: ProgressReport) => void): (told: Progress) => void {
  let last: { readonly at: number; readonly value: number; readonly message: string | undefined } | undefined;
  return ({ progress, total, message }) => {
    const value = Math.min(1, Math.max(0, total === undefined || total <= 0 ? progress : progress / total));
    if (Number.isNaN(value)) return;
    const at = clock.now();
    const isNews =
      last === undefined ||
      at - last.at >= EVERY_MS ||
      Math.abs(value - last.value) >= STEP ||
      message !== last.message ||
      (value === 1 && last.value !== 1);
    if (!isNews) return;
    last = { at, value, message };
    report({ progress: value, ...(message === undefined ? {} : { message }) });
  };
}
