import { threads } from "../builtin/background/task-table.ts";
import { seldom as builtinSeldom } from "../builtin/seldom-door.ts";
import { toolWork } from "../builtin/tool-work-door.ts";
import { seldom as commitSeldom } from "../commit/seldom-door.ts";
import { pools } from "../inference/pool/pool-cache.ts";
import { seldom as inferenceSeldom } from "../inference/seldom-door.ts";
import { whole } from "../phase/whole-door.ts";
import { opening } from "../plugin/plugins-to-open.ts";
import { seldom as promptSeldom } from "../prompt/seldom-door.ts";
import { seldom as registrySeldom } from "../registry/seldom-door.ts";
import { following } from "../relay/relay-door.ts";
import { moreRoom } from "../run/more-door.ts";
import { seldom } from "../run/seldom-door.ts";
import { schemas } from "../state/late-schema.ts";
import { profiles } from "../state/profiles-door.ts";
import type { Door } from "../stream/door.ts";
import { limits } from "../stream/limits-door.ts";
import { seldom as toolSeldom } from "../tool/seldom-door.ts";

/** Every door but the one that this stands behind; first what a run needs when something failed. */
const DOORS: readonly Door<unknown>[] = [
  ...[inferenceSeldom, limits, seldom, commitSeldom, whole, moreRoom, following, pools, toolSeldom],
  ...[builtinSeldom, threads, toolWork, promptSeldom, registrySeldom, profiles, schemas, opening],
];

/**
 * A process that works for long has every part before it needs one: its files may be gone by then, replaced by a newer version, or it may have no file descriptor
 * left. One after the other, beside what is at work, until it is closed. Never rejects: what could not be loaded is asked for again by whoever needs it.
 */
export async function loadAll(closing: AbortSignal): Promise<void> {
  for (const door of DOORS) {
    if (closing.aborted) return;
    try {
      await door.open();
    } catch {
      // Whoever needs it says so.
    }
  }
}
