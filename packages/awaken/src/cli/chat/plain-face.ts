import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { EXIT } from "../exit-codes.ts";
import type { Interrupts } from "../interrupts.ts";
import { clean } from "../sanitize.ts";
import type { Block, BlockOf, Change } from "./block.ts";
import { blockText, toolStateText } from "./block-text.ts";
import type { ChatDriver, Face } from "./driver.ts";
import type { Retry } from "./retry.ts";
import type { ThreadTalk } from "./thread-talk.ts";
import { retryText } from "./tool-text.ts";

/** What a line goes to: answers and what was asked for, or remarks beside them. */
type Way = "answer" | "remark";

function wayOf(block: Block): Way {
  if (block.type === "note") return block.tone === "listing" ? "answer" : "remark";
  return block.type === "answer" || block.type === "output" || block.type === "ticket" ? "answer" : "remark";
}

/** Writes what happens as lines that are never taken back. Text in progress is continued as it comes. */
class PlainPrinter {
  readonly #write: (text: string, way: Way) => void;
  /** The block whose text is being written, without a newline behind it yet. */
  #open: number | undefined;
  /** Remarks that wait for its end: they would cut it in two. */
  #held: Block[] = [];

  constructor(write: (text: string, way: Way) => void) {
    this.#write = write;
  }

  change(change: Change): void {
    switch (change.type) {
      case "added":
        this.#added(change.index, change.block);
        break;
      case "changed":
        this.#changed(change.index, change.block, change.before);
        break;
      case "reset":
        this.line(`! the answer starts over: ${change.why}`, "remark");
    }
  }

  line(text: string, way: Way): void {
    this.close();
    this.#write(`${text}\n`, way);
  }

  close(): void {
    if (this.#open !== undefined) this.#write("\n", "answer");
    this.#open = undefined;
    for (const block of this.#held.splice(0)) this.#block(block);
  }

  #block(block: Block): void {
    this.line(blockText(block), wayOf(block));
  }

  #added(index: number, block: Block): void {
    if (block.type === "answer" && block.isOpen) {
      this.close();
      this.#open = index;
      this.#write(block.text, "answer");
      return;
    }
    // Whoever pipes lines in knows them.
    if (block.type === "user") return;
    // Thoughts come in pieces: they are told when they are complete.
    if (block.type === "draft" || (block.type === "thought" && block.isOpen)) return;
    if (this.#open !== undefined && block.type === "note") this.#held.push(block);
    else this.#block(block);
  }

  #changed(index: number, block: Block, before: Block): void {
    if (block.type === "answer" && before.type === "answer") this.#continue(index, block.text.slice(before.text.length), block.isOpen);
    else if (block.type === "tool") this.#toolChanged(block, before);
    else if (block.type === "ticket" && block.state.type === "closed") this.line(`? #${block.ask.number} ${block.state.how}`, "remark");
    else if (block.type === "thought" && !block.isOpen) this.#block(block);
    else if (block.type === "task" || block.type !== before.type) this.#block(block);
  }

  #toolChanged(block: BlockOf<"tool">, before: Block): void {
    if (before.type !== "tool" || before.state !== block.state) this.line(toolStateText(block), "remark");
  }

  #continue(index: number, text: string, isOpen: boolean): void {
    if (this.#open !== index && text !== "") {
      this.close();
      this.#open = index;
    }
    this.#write(text, "answer");
    if (!isOpen && this.#open === index) this.close();
  }
}

export interface PlainOptions {
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** For what is no answer: the thread, tools, notes. */
  readonly stderr: Writable;
  /** Ends the chat from outside: the run that is under way is cancelled and comes to its end. */
  readonly interrupts: Pick<Interrupts, "signal" | "exitCode">;
}

const isOpenEnd = (change: Change): boolean =>
  change.type === "added" && (change.block.type === "ticket" || (change.block.type === "note" && change.block.tone === "warning"));

function exitCodeOf({ state, hasFailed }: ThreadTalk): number {
  if (state.type === "waiting") return EXIT.waiting;
  return hasFailed ? EXIT.failed : EXIT.ok;
}

/**
 * Lines of input, one after another, until there are no more: then what is waiting is left waiting. Without a name the thread is a new
 * one. Gives the exit code: that of the
 * last run, as `awaken run` gives it.
 */
export async function plainFace(driver: ChatDriver, thread: string | undefined, options: PlainOptions): Promise<number> {
  const { stdin, stdout, stderr, interrupts } = options;
  // Opened before anything is awaited: what was typed early is not lost.
  const lines = createInterface({ input: stdin, crlfDelay: Number.POSITIVE_INFINITY });
  const input = lines[Symbol.asyncIterator]();
  let isGone = false;
  // Whoever read us went away: there is nobody to talk to.
  stdout.on("error", () => {
    isGone = true;
    lines.close();
  });
  const printer = new PlainPrinter((text, way) => {
    if (way === "remark") stderr.write(text);
    else if (!isGone) stdout.write(text);
  });
  let isStarted = false;
  let told: Retry | undefined;
  const face: Face = {
    // What was said before is on record; what still waits is not over.
    onChange: (change) => (isStarted || isOpenEnd(change)) && printer.change(change),
    onState() {
      const { retry } = driver.conversation;
      if (retry !== undefined && retry !== told) printer.line(`! ${retryText(retry)}`, "remark");
      told = retry;
    },
    onSwitch: () => printer.line(clean(`- thread ${driver.talk.id}, agent ${driver.talk.agent}`), "remark"),
  };
  const onInterrupt = () => {
    lines.close();
    void driver.stop();
  };
  interrupts.signal.addEventListener("abort", onInterrupt, { once: true });
  const isOver = () => isGone || interrupts.signal.aborted;
  await driver.start(face, thread ?? driver.talk.id);
  isStarted = true;
  for (let next = await input.next(); next.done !== true && !isOver(); next = await input.next()) {
    const submitted = await driver.submit(next.value);
    if (submitted.type === "edit") printer.line(submitted.line, "answer");
    if (submitted.type === "quit") break;
  }
  interrupts.signal.removeEventListener("abort", onInterrupt);
  lines.close();
  printer.close();
  if (!isGone && stdout.writableNeedDrain) await once(stdout, "drain");
  return interrupts.signal.aborted ? interrupts.exitCode : exitCodeOf(driver.talk);
}
