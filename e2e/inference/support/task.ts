import type { ChatCompletionRequest, ChatMessage, FixtureBlock, FixtureResponse } from "@copilotkit/aimock";

/** The model that all vendors play: a task has three rounds of tool calls and a last word. It is a function of the conversation. */
export interface Answer {
  /** In the order of the stream: words, and items to reserve. */
  readonly blocks: readonly ({ readonly text: string } | { readonly item: string })[];
  readonly reasoning: string | undefined;
}

export const TOOL = "reserve";

/** More bytes than letters: a cut may go through a letter. */
const WORDS = ["Ærlig talt – jeg sjekker hyllene nå. ", "漢字も、絵文字 🧭 も届く。", "One moment please, ", "Über «alles» hinweg: ", "🛰️ "];
const ROUNDS = [["1a", "1b"], ["2a"], ["3a", "3b", "3c"]] as const;

const itemOf = (task: number, place: string): string => `t${task}-${place}`;

export const itemsIn = (text: string): string[] => text.match(/\bt\d+-\d[abc]\b/g) ?? [];

/** Everything that a task reserves when it is done. */
export const taskItems = (task: number): string[] => ROUNDS.flat().map((place) => itemOf(task, place));

const words = (task: number, salt: number, count: number): string =>
  Array.from({ length: count }, (_, index) => WORDS[(task * 7 + salt * 3 + index) % WORDS.length]).join("");

export const finalText = (task: number): string => `Task ${task} is done. ${words(task, 9, 2)}`;

/** Blank words are never worth going on after: a break among them starts over. */
const BLANK = "\n\n      \n\n      ";

/** What the model says next. Half of the tasks talk between their calls, a third thinks first, a quarter begins with blank words. */
export function answerTo(task: number, done: ReadonlySet<string>): Answer {
  const round = ROUNDS.map((places) => places.map((place) => itemOf(task, place))).find((items) => items.some((item) => !done.has(item)));
  if (round === undefined) return { blocks: [{ text: finalText(task) }], reasoning: undefined };
  const missing = round.filter((item) => !done.has(item));
  const blocks = missing.flatMap((item, index) => {
    const isSaid = index === 0 || task % 2 === 0;
    const blank = index === 0 && task % 4 === 0 ? BLANK : "";
    return isSaid ? [{ text: `${blank}${words(task, index, 3)}I reserve ${item}. ` }, { item }] : [{ item }];
  });
  return { blocks, reasoning: task % 3 === 0 ? `Still to do: ${missing.join(" + ")}. ${words(task, 1, 2)}` : undefined };
}

export const answerText = ({ blocks }: Answer): string => blocks.map((block) => ("text" in block ? block.text : "")).join("");
export const answerItems = ({ blocks }: Answer): string[] => blocks.flatMap((block) => ("item" in block ? [block.item] : []));

const textOf = ({ content }: ChatMessage): string =>
  typeof content === "string" ? content : (content ?? []).map(({ text = "" }) => text).join("");

export const taskInput = (task: number): string => `task ${task}: reserve what is needed`;
const TASK = /^task (\d+):/;

/** The task that a request on the wire began with. */
export const taskOfBody = (body: unknown): number => Number(/"task (\d+):/.exec(JSON.stringify(body))?.[1]);

function taskOf(messages: readonly ChatMessage[]): number {
  const found = messages.flatMap((message) => (message.role === "user" ? [TASK.exec(textOf(message))?.[1]] : []));
  return Number(found.findLast((digits) => digits !== undefined) ?? Number.NaN);
}

/** After a broken stream the request ends with what the model had said and a plea to go on. */
function saidBefore(messages: readonly ChatMessage[]): string {
  const [said, plea] = messages.slice(-2);
  if (said?.role !== "assistant" || said.tool_calls !== undefined || plea?.role !== "user" || TASK.test(textOf(plea))) return "";
  return textOf(said);
}

function withoutPrefix({ blocks }: Answer, prefix: string): FixtureBlock[] {
  let skip = prefix.length;
  return blocks.flatMap((block): FixtureBlock[] => {
    if ("item" in block) {
      return [{ type: "toolCall", name: TOOL, arguments: JSON.stringify({ item: block.item, note: `für ${block.item} 🧾` }) }];
    }
    const text = block.text.slice(skip);
    skip = Math.max(0, skip - block.text.length);
    return text === "" ? [] : [{ type: "text", text }];
  });
}

const USAGE = { input_tokens: 7, output_tokens: 5, prompt_tokens: 7, completion_tokens: 5 };

/** aimock's fixture: answers any conversation about a task, and goes on exactly where a broken answer stopped. */
export class TaskModel {
  /** By task, how often it was asked to go on after words that were cut off. */
  readonly continuations = new Map<number, number>();

  readonly play = ({ messages }: ChatCompletionRequest): FixtureResponse => {
    const task = taskOf(messages);
    const done = new Set(messages.flatMap((message) => (message.role === "tool" ? itemsIn(textOf(message)) : [])));
    const answer = answerTo(task, done);
    const prefix = saidBefore(messages);
    if (!answerText(answer).startsWith(prefix)) {
      return { error: { message: `the answer so far is not mine: ${prefix}`, type: "invalid_request_error" }, status: 400 };
    }
    if (prefix !== "") this.continuations.set(task, (this.continuations.get(task) ?? 0) + 1);
    const blocks = withoutPrefix(answer, prefix);
    const thought = answer.reasoning === undefined ? {} : { reasoning: answer.reasoning, reasoningSignature: `signed-${task}` };
    return blocks.length === 0 ? { content: "", usage: USAGE } : { blocks, usage: USAGE, ...thought };
  };
}
