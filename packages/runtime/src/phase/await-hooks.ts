import { asItIsNow, type HookPhase } from "@awaken/contract";
import type { Bounds, OnAbort, Work } from "../stream/bounds.ts";
import { errorOf, watch } from "../stream/limited.ts";
import { type CalledHooks, isHere } from "./called-hooks.ts";
import { Command } from "./command.ts";

/** How long the hooks of a phase are waited for. */
export interface Patience {
  readonly bounds: Bounds;
  readonly onAbort: OnAbort;
}

export const workOf = (phase: HookPhase, onAbort: OnAbort, plugins: () => readonly string[]): Work => ({
  limit: "hookMs",
  onAbort,
  name: () =>
    `the hook of plugin ${plugins()
      .map((plugin) => `'${plugin}'`)
      .join(", ")} in ${phase}`,
});

/** What hooks gave until nobody waited any longer, and the plugins whose hooks were left behind: what these give later reaches nobody. */
interface Awaited {
  readonly given: readonly (Command | undefined)[];
  readonly left: readonly string[];
}

/** As it is when its hook gives it: while others are waited for, it may still be in the hands of its plugin. */
function ownCommand(given: Command | undefined): Command | undefined {
  if (given === undefined) return undefined;
  const { updates, actions, effects, baseRevision } = given;
  const own = updates.map(({ key, update }) => ({ key, update: asItIsNow(update) }));
  return new Command(own, actions, effects, baseRevision);
}

/** Throws the first failure in the order of the hooks, else that they took too long. Hooks that an abort leaves behind give nothing. */
export function awaitHooks<P extends HookPhase>(
  { entries, given, phase }: CalledHooks<P>,
  { bounds, onAbort }: Patience,
): Promise<Awaited> {
  return new Promise((resolve, reject) => {
    const here: (Command | undefined)[] = [];
    const failures: unknown[] = [];
    const open = new Map<number, string>();
    const work = workOf(phase, onAbort, () => [...open.values()]);
    let isOver = false;
    let stop: (() => void) | undefined;
    const end = (tell: () => void) => {
      isOver = true;
      stop?.();
      tell();
    };
    const finish = () => {
      const index = Object.keys(failures)[0];
      end(() => (index === undefined ? resolve({ given: here, left: [...open.values()] }) : reject(failures[Number(index)])));
    };
    const done = (index: number) => {
      open.delete(index);
      if (open.size === 0 && !isOver) finish();
    };
    given.forEach((one, index) => {
      if (isHere(one)) {
        here[index] = ownCommand(one);
        return;
      }
      open.set(index, entries[index]?.plugin ?? "");
      one.then(
        (value) => {
          if (!isOver) here[index] = ownCommand(value);
          done(index);
        },
        (thrown: unknown) => {
          failures[index] = thrown;
          done(index);
        },
      );
    });
    if (open.size === 0) return finish();
    stop = watch(bounds, work, (why) => {
      if (why === "late" && failures.length === 0) end(() => reject(errorOf(bounds, why, work)));
      else finish();
    });
    if (isOver) stop();
  });
}
