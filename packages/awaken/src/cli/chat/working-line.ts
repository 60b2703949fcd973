import { type Component, truncateToWidth } from "@earendil-works/pi-tui";
import type { ChatDriver } from "./driver.ts";
import type { Theme } from "./theme.ts";
import { retryText } from "./tool-text.ts";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 120;

export function elapsedText(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** What is going on, in a few words. */
export function workText({ conversation }: ChatDriver): string {
  const { retry } = conversation;
  if (retry !== undefined) return retryText(retry);
  const tools = conversation.blocks.flatMap((block) => (block.type === "tool" && block.state.type === "running" ? [block.name] : []));
  if (tools.length > 0) return `running ${tools.join(", ")}`;
  const last = conversation.blocks.findLast((block) => block.type === "answer" || block.type === "thought" || block.type === "draft");
  return last?.type === "draft" || last?.isOpen === true ? "writing" : "waiting for the model";
}

/** A sign of life while a run is under way: how long it takes, and why nothing comes. */
export class WorkingLine implements Component {
  readonly #driver: ChatDriver;
  readonly #theme: Theme;
  readonly #render: () => void;
  #since = 0;
  #frame = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(driver: ChatDriver, theme: Theme, render: () => void) {
    this.#driver = driver;
    this.#theme = theme;
    this.#render = render;
  }

  /** The state of the chat changed. */
  update(): void {
    const isRunning = this.#driver.talk.state.type === "running";
    if (!isRunning) this.stop();
    if (!isRunning || this.#timer !== undefined) return;
    this.#since = performance.now();
    this.#timer = setInterval(() => {
      this.#frame++;
      this.#render();
    }, FRAME_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  invalidate(): void {}

  render(width: number): string[] {
    if (this.#timer === undefined) return [];
    const text = `${FRAMES[this.#frame % FRAMES.length]} ${elapsedText(performance.now() - this.#since)} · ${workText(this.#driver)}`;
    return [this.#theme.dim(truncateToWidth(text, width))];
  }
}
