import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

/** What was typed in the chats of a project, the newest last. */
export interface InputHistory {
  readonly lines: readonly string[];
  add(line: string): void;
}

const MAX_LINES = 200;

function fileOf(root: string, env: Readonly<Record<string, string | undefined>>): string {
  const state = env["XDG_STATE_HOME"] || join(env["HOME"] || homedir(), ".local/state");
  return join(state, "awaken", `history-${createHash("sha256").update(root).digest("hex").slice(0, 12)}.json`);
}

function load(file: string): readonly string[] {
  try {
    const found: unknown = JSON.parse(readFileSync(file, "utf8"));
    return Array.isArray(found) ? found.filter((line) => typeof line === "string") : [];
  } catch {
    return [];
  }
}

/** In the home of whoever types, and for nobody else to read. Where it cannot be kept, it lasts as long as the chat. */
export function openHistory(root: string, env: Readonly<Record<string, string | undefined>>): InputHistory {
  const file = fileOf(root, env);
  let lines = load(file).slice(-MAX_LINES);
  return {
    get lines() {
      return lines;
    },
    add(line) {
      if (lines.at(-1) === line) return;
      // Another chat of this project may have added to it.
      lines = [...load(file), line].slice(-MAX_LINES);
      try {
        mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
        writeFileSync(file, JSON.stringify(lines), { mode: 0o600 });
      } catch {
        // A home that cannot be written is no reason not to talk.
      }
    },
  };
}
