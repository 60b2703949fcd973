import type { EditorTheme, MarkdownTheme, SelectListTheme } from "@earendil-works/pi-tui";

type Paint = (text: string) => string;

/** Colours by what they mean. Only the sixteen that every terminal has, so that they fit its own scheme. */
export interface Theme {
  readonly user: Paint;
  readonly dim: Paint;
  readonly tool: Paint;
  readonly good: Paint;
  readonly bad: Paint;
  readonly warning: Paint;
  readonly strong: Paint;
  readonly markdown: MarkdownTheme;
  readonly editor: EditorTheme;
  readonly list: SelectListTheme;
}

const plain: Paint = (text) => text;

/** Each line on its own: a style does not reach over the end of a line. */
const sgr =
  (on: number, off: number): Paint =>
  (text) =>
    text
      .split("\n")
      .map((line) => (line === "" ? line : `\u001b[${on}m${line}\u001b[${off}m`))
      .join("\n");

export function createTheme({ hasColors }: { readonly hasColors: boolean }): Theme {
  const color = (code: number): Paint => (hasColors ? sgr(code, 39) : plain);
  const strong = sgr(1, 22);
  const dim = hasColors ? color(90) : plain;
  const list: SelectListTheme = { selectedPrefix: color(36), selectedText: strong, description: dim, scrollInfo: dim, noMatch: dim };
  return {
    user: color(36),
    tool: color(35),
    good: color(32),
    bad: color(31),
    warning: color(33),
    dim,
    strong,
    list,
    editor: { borderColor: dim, selectList: list },
    markdown: {
      heading: strong,
      link: color(34),
      linkUrl: dim,
      code: color(33),
      codeBlock: plain,
      codeBlockBorder: dim,
      quote: dim,
      quoteBorder: dim,
      hr: dim,
      listBullet: color(36),
      bold: strong,
      italic: sgr(3, 23),
      strikethrough: sgr(9, 29),
      underline: sgr(4, 24),
    },
  };
}
