import type { Tool } from "../tool/tool.ts";

/** Tools that come and go while the program runs: those of another server, of a file that is edited. */
export interface ToolSource {
  /** How the ids of its tools begin. An agent may name such an id before the source has it. */
  readonly prefix: string;
  /** The tools of this moment, at once: the same list until something changes, then another. A run keeps the list that it started with. */
  snapshot(): readonly Tool[];
}

/** A source with the list that an environment was compiled with. */
export interface ReadSource {
  readonly source: ToolSource;
  readonly tools: readonly Tool[];
}

/** Reads a source; whoever has to see one list twice keeps it. */
export type ReadTools = (source: ToolSource) => readonly Tool[];

export const readNow: ReadTools = (source) => source.snapshot();
