import { randomUUID } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { AwakenError } from "@awaken/contract";
import { appendLine, readLines } from "../../durability/support/outside.ts";

/** What somebody asks of the runtime. */
export type Deed =
  | { readonly op: "start"; readonly thread: string; readonly run: string | undefined; readonly message: string }
  | { readonly op: "send"; readonly thread: string; readonly message: string }
  | { readonly op: "decide"; readonly run: string; readonly ticket: string; readonly decision: string; readonly action: "approve" | "deny" }
  | { readonly op: "cancel"; readonly run: string };

type Line =
  | { readonly type: "try"; readonly id: string; readonly at: number; readonly deed: Deed }
  | { readonly type: "accepted"; readonly id: string; readonly at: number; readonly answer: unknown }
  | { readonly type: "refused"; readonly id: string; readonly code: string; readonly message: string };

/** A deed, and what became of it as far as whoever asked was told. A process that died was told nothing. */
export interface Entry {
  readonly deed: Deed;
  /** By a clock that all processes of the machine share, in microseconds. */
  readonly begunAt: number;
  readonly end:
    | { readonly type: "accepted"; readonly at: number; readonly answer: unknown }
    | { readonly type: "refused"; readonly code: string; readonly message: string }
    | { readonly type: "unknown" };
}

const now = (): number => Number(process.hrtime.bigint() / 1_000n);

const PREFIX = "journal-";

/** What one process asks, line by line on the disk: before it asks, and when it was answered. */
export class Journal {
  readonly #path: string;

  constructor(folder: string, name: string) {
    this.#path = join(folder, `${PREFIX}${name}.jsonl`);
  }

  /** Undefined when it was refused. */
  async note<T>(deed: Deed, act: () => Promise<T>, tell: (result: T) => unknown = () => null): Promise<T | undefined> {
    const id = randomUUID();
    this.#write({ type: "try", id, at: now(), deed });
    try {
      const result = await act();
      this.#write({ type: "accepted", id, at: now(), answer: tell(result) });
      return result;
    } catch (thrown) {
      const code = AwakenError.is(thrown) ? thrown.code : "unexpected";
      this.#write({ type: "refused", id, code, message: thrown instanceof Error ? thrown.message : String(thrown) });
      return undefined;
    }
  }

  #write(line: Line): void {
    appendLine(this.#path, line);
  }
}

export function readJournals(folder: string): readonly Entry[] {
  const entries: Entry[] = [];
  for (const file of readdirSync(folder).filter((name) => name.startsWith(PREFIX))) {
    const path = join(folder, file);
    const lines = existsSync(path) ? readLines<Line>(path) : [];
    const ends = new Map(lines.flatMap((line) => (line.type === "try" ? [] : [[line.id, line] as const])));
    for (const line of lines) {
      if (line.type === "try") entries.push({ deed: line.deed, begunAt: line.at, end: ends.get(line.id) ?? { type: "unknown" } });
    }
  }
  return entries.sort((a, b) => a.begunAt - b.begunAt);
}
