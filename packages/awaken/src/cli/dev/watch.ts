import { watch } from "node:fs";
import { basename, sep } from "node:path";

/** What the project writes itself, and what it does not consist of. */
const IGNORED = /^(?:node_modules|dist|coverage|\..+)$/;
const DATA = /\.(?:db|db-[a-z]+|log|sqlite\w*)$/;
const SETTLE_MS = 100;

const isOfProject = (path: string): boolean => {
  const folders = path.split(sep);
  const name = folders.pop() ?? "";
  return !folders.some((folder) => IGNORED.test(folder)) && !DATA.test(name) && (!name.startsWith(".") || name === ".env");
};

/** Tells of changes in the files of a project: once for all that are written together. */
export function watchFiles(root: string, onChange: (name: string) => void): Disposable {
  let timer: NodeJS.Timeout | undefined;
  const watcher = watch(root, { recursive: true }, (_, path) => {
    if (path === null || !isOfProject(path)) return;
    clearTimeout(timer);
    timer = setTimeout(() => onChange(basename(path)), SETTLE_MS);
  });
  return {
    [Symbol.dispose]() {
      clearTimeout(timer);
      watcher.close();
    },
  };
}
