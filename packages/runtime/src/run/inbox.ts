import type { ThreadId } from "@awaken/contract";
import type { TenantTasks } from "../builtin/background/task-table.ts";
import type { InboxItem } from "../plugin/inbox.ts";
import { Queue } from "../stream/queue.ts";

/** What is sent to a run while it is at work. */
export class Inbox extends Queue<InboxItem> {
  readonly #threadId: ThreadId;
  /** Whoever keeps news of tasks that came too late for the run: they wait for the next one. */
  late: TenantTasks | undefined;

  constructor(threadId: ThreadId) {
    super();
    this.#threadId = threadId;
  }

  override onRefused(item: InboxItem): void {
    if (item.type === "task") this.late?.tell(this.#threadId, item.event);
  }
}
