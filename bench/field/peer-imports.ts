import { registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { folderOf } from "./install.ts";

/** What modules of this folder import by package name is from now on looked for where that peer is installed. */
export function importFromPeer(peer: string, folder: string): void {
  const here = pathToFileURL(folder).href;
  const home = pathToFileURL(join(folderOf(peer), "adapter.mjs")).href;
  registerHooks({
    resolve(specifier, context, next) {
      const isPackage = !specifier.startsWith(".") && !specifier.startsWith("node:");
      const isOfPeer = isPackage && context.parentURL?.startsWith(here) === true;
      return next(specifier, isOfPeer ? { ...context, parentURL: home } : context);
    },
  });
}
