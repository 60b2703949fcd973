import { describe, expect, it } from "vitest";
import { guessToolKind, type ToolKind } from "./tool-kind.ts";

const WORDS: Record<Exclude<ToolKind, "other">, readonly string[]> = {
  edit: ["edit", "write", "patch", "replace", "create", "delete", "remove", "move", "rename"],
  search: ["search", "grep", "find", "rg"],
  read: ["read", "cat", "view", "open", "list", "ls", "glob", "fetch", "http", "curl"],
  execute: ["bash", "shell", "exec", "run", "command", "terminal"],
};
const ORDER = ["edit", "search", "read", "execute"] as const;

describe("guessToolKind", () => {
  it("knows every word, alone, inside a name, and in any case", () => {
    for (const kind of ORDER) {
      for (const word of WORDS[kind]) {
        expect([word, guessToolKind(word)]).toEqual([word, kind]);
        expect([word, guessToolKind(`zz_${word.toUpperCase()}_zz`)]).toEqual([word, kind]);
      }
    }
  });

  it("takes the first list that matches: edit, search, read, execute", () => {
    for (const [index, first] of ORDER.entries()) {
      for (const second of ORDER.slice(index + 1)) {
        for (const later of WORDS[second]) {
          for (const word of WORDS[first]) expect(guessToolKind(`${later}_${word}`)).toBe(first);
        }
      }
    }
    expect(guessToolKind("search_and_replace")).toBe("edit");
    expect(guessToolKind("find_file_list")).toBe("search");
    expect(guessToolKind("run_http")).toBe("read");
  });

  it("guesses other for the rest, and the odd hit that a substring brings", () => {
    expect(guessToolKind("weather")).toBe("other");
    expect(guessToolKind("")).toBe("other");
    expect(guessToolKind("category")).toBe("read");
    expect(guessToolKind("target")).toBe("search");
  });
});
