import { readdir, realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errorMessage } from "@awaken/contract";
import { fileSkill } from "./file-skill.ts";
import { readInside, resolveInside } from "./inside.ts";
import type { Skill, SkillListing, SkillSource } from "./types.ts";

const FILE = "SKILL.md";
const SKILL_BYTES = 512 * 1024;

/** What was read of a folder, good as long as its file is the same one. */
interface Read {
  readonly mark: string;
  readonly found: Skill | string;
}

const isMissing = (thrown: unknown): boolean => thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT";

class SkillFolders implements SkillSource {
  readonly name: string;
  readonly #roots: readonly string[];
  #read = new Map<string, Read>();

  constructor(roots: readonly string[]) {
    this.#roots = roots;
    this.name = roots.join(", ");
  }

  async list(): Promise<SkillListing> {
    const read = new Map<string, Read>();
    const skills: Skill[] = [];
    const warnings: string[] = [];
    for (const root of this.#roots) {
      try {
        for (const [path, known] of await this.#readRoot(root)) read.set(path, known);
      } catch (thrown) {
        warnings.push(`the skills of ${root} cannot be listed, those known before stay: ${errorMessage(thrown)}`);
        for (const [path, known] of this.#read) if (dirname(path) === dirname(join(root, "x"))) read.set(path, known);
      }
    }
    this.#read = read;
    for (const [path, { found }] of read) {
      if (typeof found === "string") warnings.push(`skill '${path}' is left out: ${found}`);
      else skills.push(found);
    }
    return { skills, warnings };
  }

  async #readRoot(root: string): Promise<readonly (readonly [path: string, read: Read])[]> {
    const found: (readonly [string, Read])[] = [];
    for (const entry of await readdir(root, { withFileTypes: true })) {
      if (entry.name.startsWith(".") || !(entry.isDirectory() || entry.isSymbolicLink())) continue;
      const known = await this.#readFolder(root, entry.name);
      if (known !== undefined) found.push([join(root, entry.name), known]);
    }
    return found;
  }

  /** Undefined for a folder that is no skill. */
  async #readFolder(root: string, folder: string): Promise<Read | undefined> {
    const path = join(root, folder);
    try {
      // Not out of the root, and its file not out of its folder.
      const real = await resolveInside(root, folder);
      const { mtimeMs, size, ino } = await stat(join(real, FILE));
      const mark = `${real} ${ino} ${mtimeMs} ${size}`;
      const before = this.#read.get(path);
      if (before?.mark === mark) return before;
      const text = (await readInside(real, FILE, SKILL_BYTES)).toString("utf8");
      return { mark, found: fileSkill(folder, await realpath(real), text) };
    } catch (thrown) {
      return isMissing(thrown) ? undefined : { mark: "", found: errorMessage(thrown) };
    }
  }
}

/** Skills in folders: each direct subfolder with a `SKILL.md`, as other programs write them. What is broken is left out with a warning. */
export const skillFolders = (...roots: readonly string[]): SkillSource => new SkillFolders(roots);
