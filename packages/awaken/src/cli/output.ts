import { styleText } from "node:util";
import { brief, jsonLine } from "./printable.ts";
import { clean, TextCleaner } from "./sanitize.ts";
import type { Shell } from "./shell.ts";

const MAX_CELL = 64;

type Style = Parameters<typeof styleText>[0];

/** Answers go to stdout, remarks to stderr; colours only where the stream is a terminal that wants them. */
export class Output {
  readonly #stdout: NodeJS.WriteStream;
  readonly #stderr: NodeJS.WriteStream;
  readonly #redact: Shell["redact"];
  readonly #cleaner = new TextCleaner();
  #isMidLine = false;

  constructor({ stdout, stderr, redact }: Pick<Shell, "stdout" | "stderr" | "redact">) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#redact = redact;
  }

  /** Text as it comes, without a new line. */
  stream(text: string): void {
    const safe = this.#cleaner.push(text);
    if (safe === "") return;
    this.#stdout.write(safe);
    this.#isMidLine = !safe.endsWith("\n");
  }

  line(text = "", style: Style = "reset"): void {
    this.endLine();
    this.#stdout.write(`${paint(text, style, this.#stdout)}\n`);
  }

  /** A remark, without secrets: not part of the answer. */
  note(text: string, style: Style = "dim"): void {
    this.endLine();
    this.#stderr.write(`${paint(this.#redact(text), style, this.#stderr)}\n`);
  }

  json(value: unknown): void {
    this.#stdout.write(`${jsonLine(value)}\n`);
  }

  /** The text that was streamed gets its end of line. */
  endLine(): void {
    if (!this.#isMidLine) return;
    this.#isMidLine = false;
    this.#stdout.write("\n");
  }

  /** Cells are one line each, and cut when they are very long. */
  table(head: readonly string[], given: readonly (readonly string[])[]): void {
    const rows = given.map((row) => row.map((cell) => brief(cell, MAX_CELL)));
    const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
    const format = (row: readonly string[]) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd();
    this.line(format(head), "bold");
    for (const row of rows) this.line(format(row));
  }

  /** Names and values below each other. */
  fields(entries: readonly (readonly [name: string, value: string])[], indent = ""): void {
    const width = Math.max(...entries.map(([name]) => name.length));
    for (const [name, value] of entries) this.line(`${indent}${name.padEnd(width)}  ${value}`);
  }
}

function paint(text: string, style: Style, stream: NodeJS.WriteStream): string {
  const safe = clean(text);
  return style === "reset" || safe === "" ? safe : styleText(style, safe, { stream });
}

export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** In UTC, to the second. */
export const timeText = (at: number): string => new Date(at).toISOString().replace("T", " ").slice(0, 19);
