import { type ContextMessage, freezeJson, type JsonObject, type Message, messageId } from "@awaken/contract";
import type { Ids } from "../stream/ids.ts";

const PAGE = "frontend-context";

/**
 * The messages that one run makes of what is none. Each is one object for as long as what it is made of stands, so that what is cached
 * per message stays good from step to step.
 */
export class MadeMessages {
  readonly #ids: Ids;
  /** Made with the first one: empty it is 130 bytes. */
  #ofEntries: WeakMap<ContextMessage, Message> | undefined;
  #ofPage: { readonly shown: JsonObject; readonly message: Message } | undefined;

  constructor(ids: Ids) {
    this.#ids = ids;
  }

  ofEntry(entry: ContextMessage): Message {
    const before = this.#ofEntries?.get(entry);
    if (before !== undefined) return before;
    const { role, content } = entry;
    const message: Message = { id: messageId(this.#ids()), role, visibility: "internal", content: [{ type: "text", text: content }] };
    freezeJson(message);
    this.#ofEntries ??= new WeakMap();
    this.#ofEntries.set(entry, message);
    return message;
  }

  /** Of what the page shows: the same for the whole run. */
  ofPage(shown: JsonObject): Message {
    if (this.#ofPage?.shown === shown) return this.#ofPage.message;
    const text = `<${PAGE}>\n${JSON.stringify(shown)}\n</${PAGE}>`;
    const message: Message = { id: messageId(PAGE), role: "system", visibility: "internal", content: [{ type: "text", text }] };
    freezeJson(message);
    this.#ofPage = { shown, message };
    return message;
  }
}
