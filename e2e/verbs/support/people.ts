import type { QueueStore } from "@awaken/contract/store";
import type { Fleet } from "./fleet.ts";
import type { Journal } from "./journal.ts";
import type { Scheduler } from "./scheduler.ts";

/** What those who do something have at hand. */
export interface People {
  readonly scheduler: Scheduler;
  readonly fleet: Fleet;
  readonly journal: Journal;
  /** As it is, for whoever looks before he asks. */
  readonly store: QueueStore;
}
