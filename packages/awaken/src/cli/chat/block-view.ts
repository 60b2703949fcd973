import { type Component, Markdown, Text } from "@earendil-works/pi-tui";
import type { Block, BlockOf } from "./block.ts";
import { inputText, noteText, overText, taskText, ticketText, userText } from "./block-text.ts";
import type { Theme } from "./theme.ts";

const TONES = { listing: "dim", info: "dim", warning: "warning", error: "bad" } as const;
const MARKS = { succeeded: "✓", answered: "✓", failed: "✗", denied: "✗", cancelled: "–" } as const;

function toolText(block: BlockOf<"tool">, theme: Theme): string {
  const { name, state } = block;
  const head = `${theme.tool(name)} ${theme.dim(inputText(block))}`;
  switch (state.type) {
    case "running":
      return `… ${head}\n  ${theme.dim(state.note === "" ? "running" : state.note)}`;
    case "waiting":
      return `? ${head}\n  ${theme.warning("waits for a decision")}`;
    case "over": {
      const paint = state.outcome === "succeeded" || state.outcome === "answered" ? theme.good : theme.bad;
      return `${paint(MARKS[state.outcome])} ${head}\n  ${theme.dim(overText(state).replaceAll("\n", "\n  "))}`;
    }
  }
}

function styled(block: Exclude<Block, { readonly type: "answer" }>, theme: Theme): string {
  switch (block.type) {
    case "user":
      return theme.user(userText(block));
    case "thought":
      return theme.dim(block.text);
    case "draft":
      return theme.dim(`writing the answer: ${block.text.length} characters`);
    case "output":
      return block.json;
    case "tool":
      return toolText(block, theme);
    case "ticket":
      return block.state.type === "open" ? theme.warning(ticketText(block)) : theme.dim(ticketText(block));
    case "task":
      return theme.dim(taskText(block));
    case "note":
      return theme[TONES[block.tone]](noteText(block));
  }
}

/** One block on the screen, with a line of air under it. */
export class BlockView implements Component {
  readonly #theme: Theme;
  #shown: Markdown | Text;

  constructor(block: Block, theme: Theme) {
    this.#theme = theme;
    this.#shown =
      block.type === "answer"
        ? new Markdown(block.text, 0, 0, theme.markdown, undefined, { renderLatex: false })
        : new Text(styled(block, theme), 0, 0);
  }

  set(block: Block): void {
    const isMarkdown = this.#shown instanceof Markdown;
    if ((block.type === "answer") !== isMarkdown) this.#shown = new BlockView(block, this.#theme).#shown;
    else this.#shown.setText(block.type === "answer" ? block.text : styled(block, this.#theme));
  }

  invalidate(): void {
    this.#shown.invalidate();
  }

  render(width: number): string[] {
    return [...this.#shown.render(width), ""];
  }
}
