import { AwakenError, copyJson, isJson } from "@awaken/contract";
import type { InboxItem } from "./inbox.ts";

/** Of what is a plugin's, as it is now: nobody else holds the copy. What JSON would lose is refused where the plugin can see it. */
export function copyOf<T>(what: string, given: T): T {
  if (isJson(given)) return copyJson(given);
  throw new AwakenError("invalid_plugin", `a plugin sent ${what} that is not JSON, or is nested too deeply`);
}

/** What a plugin sends, as it was then. A notice of a compaction is asked when it is read. */
export function sentItem(item: InboxItem): InboxItem {
  switch (item.type) {
    case "messages":
      return { type: "messages", messages: copyOf("messages", item.messages) };
    case "task":
      return { type: "task", event: copyOf("news of a task", item.event) };
    case "wake":
    case "compaction":
      return item;
  }
}
