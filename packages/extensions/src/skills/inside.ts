import { constants } from "node:fs";
import { lstat, open, realpath } from "node:fs/promises";
import { isAbsolute, join, normalize, relative, sep } from "node:path";
import { SkillError } from "./skill-error.ts";

const isWithin = (root: string, path: string): boolean => {
  const way = relative(root, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
};

/** The path without links, if it stays inside the root also without them. Throws a `SkillError`. */
export async function resolveInside(root: string, path: string): Promise<string> {
  const real = await realpath(join(root, path)).catch(() => {
    throw new SkillError("io_error", `'${path}' does not exist`);
  });
  if (isWithin(await realpath(root), real)) return real;
  throw new SkillError("path_escapes_root", `'${path}' leads out of its skill`);
}

/** A relative path in one spelling, below one of these folders. Throws a `SkillError`. */
export function checkPath(path: string, folders: readonly string[]): { readonly path: string; readonly folder: string } {
  if (path.trim() === "" || path.includes("\0")) throw new SkillError("invalid_path", "the path is empty or no path");
  const plain = normalize(path.replaceAll("\\", "/"));
  if (isAbsolute(plain) || plain === ".." || plain.startsWith(`..${sep}`)) {
    throw new SkillError("path_escapes_root", `'${path}' leads out of its skill`);
  }
  const folder = folders.find((name) => plain.startsWith(`${name}${sep}`));
  if (folder !== undefined) return { path: plain, folder };
  throw new SkillError("unsupported_path", `'${path}' is not below ${folders.map((name) => `${name}/`).join(" or ")}`);
}

/** The bytes of a plain file inside the root, and no more than that. Throws a `SkillError`. */
export async function readInside(root: string, path: string, maxBytes: number): Promise<Buffer> {
  const real = await resolveInside(root, path);
  // What would make the reader wait, as a pipe does, is not opened.
  if (!(await lstat(real)).isFile()) throw new SkillError("io_error", `'${path}' is no file`);
  const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW).catch((thrown: Error) => {
    throw new SkillError("io_error", `'${path}' cannot be read: ${thrown.message}`);
  });
  try {
    const { size } = await file.stat();
    if (size > maxBytes) throw new SkillError("io_error", `'${path}' has ${size} bytes: at most ${maxBytes} are read`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}
