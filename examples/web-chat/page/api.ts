import type { UIMessage } from "ai";
import { createClient } from "awaken/client";

/** The verbs of the runtime; `useChat` has routes of its own. */
export const client = createClient({ url: new URL("/api", location.href).href });
export const CHAT = "/api/v1/ai-sdk/chat";

/** The thread as the server has it. One that nothing was said in is none yet. */
export async function loadMessages(thread: string): Promise<UIMessage[]> {
  const response = await fetch(`/api/v1/ai-sdk/threads/${thread}/messages`);
  if (response.status === 404) return [];
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  const { messages }: { readonly messages: UIMessage[] } = await response.json();
  return messages;
}

/** Ends the answer, wherever it is written. Leaving the page does not. */
export async function stopAnswer(thread: string): Promise<void> {
  await fetch(`${CHAT}/${thread}/stop`, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
}

/** What went wrong, for people: the SDK has the body of the answer as it came, and the server names what it speaks of before it says it. */
export function wordsOf({ message }: Error): string {
  const said = /^\{"error":("(?:[^"\\]|\\.)*")/.exec(message)?.[1];
  const text: string = said === undefined ? message : JSON.parse(said);
  return text.replace(/^.*: the edited input does not fit: /, "");
}
