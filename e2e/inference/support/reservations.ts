import { defineTool, type Tool } from "@awaken/runtime";
import * as z from "zod";
import { TOOL } from "./task.ts";

/** The tool of the task agent, and a book of what it did. */
export class Reservations {
  /** How often each item was reserved. */
  readonly byItem = new Map<string, number>();
  /** How often the tool ran for one call. */
  readonly byKey = new Map<string, number>();

  readonly tool: Tool = defineTool({
    id: TOOL,
    description: "Reserves one item",
    input: z.object({ item: z.string(), note: z.string() }),
    execute: ({ item }, { idempotencyKey }) => {
      count(this.byItem, item);
      count(this.byKey, idempotencyKey);
      return { reserved: item };
    },
  });
}

export function count<Key>(book: Map<Key, number>, key: Key): void {
  book.set(key, (book.get(key) ?? 0) + 1);
}
