import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { seldom as inferenceSeldom } from "../inference/seldom-door.ts";
import { seldom as registrySeldom } from "../registry/seldom-door.ts";
import { seldom } from "../run/seldom-door.ts";
import { Door } from "../stream/door.ts";
import { loadAll } from "./load-all.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

const SOURCES = join(import.meta.dirname, "..");
/** The door to what is done with a store, the mailbox too: whoever loads all of the others is behind it. */
const BEFORE = "runtime-late-store.ts";

/** Every door to a part, as it is written in our sources. */
function writtenDoors(): { readonly file: string; readonly name: string }[] {
  const files = globSync("**/*.ts", { cwd: SOURCES, exclude: ["testing/**", "**/*.test.ts", BEFORE] });
  return files.flatMap((file) => {
    const doors = readFileSync(join(SOURCES, file), "utf8").matchAll(/(\w+) = new Door\(\(\) => import\(/g);
    return [...doors].map(([, name = ""]) => ({ file, name }));
  });
}

describe("what a process with workers loads", () => {
  it("is every part that has a door, whoever opens it first", async () => {
    const doors = writtenDoors();
    expect(doors.length).toBeGreaterThan(10);
    await loadAll(new AbortController().signal);
    const closed: string[] = [];
    for (const { file, name } of doors) {
      const room: { readonly [name: string]: unknown } = await import(join(SOURCES, file));
      const door = room[name];
      if (!(door instanceof Door) || door.room === undefined) closed.push(`${file} ${name}`);
    }
    expect(closed).toEqual([]);
  });

  it("a part that cannot be loaded keeps it from none of the others", async () => {
    const tried = vi.spyOn(inferenceSeldom, "open").mockImplementation(() => Promise.reject(new Error("too many open files")));
    await loadAll(new AbortController().signal);
    expect(tried).toHaveBeenCalledOnce();
    expect(registrySeldom.room).toHaveProperty("discoverAgents");
  });

  it("nothing more when it is closed meanwhile", async () => {
    const closing = new AbortController();
    const next = vi.spyOn(seldom, "open");
    vi.spyOn(inferenceSeldom, "open").mockImplementation(() => {
      closing.abort();
      return Promise.reject(new Error("too many open files"));
    });
    await loadAll(closing.signal);
    expect(next).not.toHaveBeenCalled();
  });
});
