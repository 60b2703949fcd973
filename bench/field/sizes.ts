import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { countInstantiations } from "../../scripts/check-inference.ts";
import { bundle } from "../../scripts/core-bundle.ts";
import { type Entry, installOurs, installPeer, timeImports } from "./cold-start.ts";
import { installedPeers } from "./install.ts";
import { TYPE_PROGRAMS } from "./type-programs.ts";

/** W7 and the sizes of one runtime; a number is missing where it could not be taken. */
export interface Size {
  readonly name: string;
  readonly importMs?: number;
  readonly installMiB?: number;
  readonly packages?: number;
  /** Minified and zipped, zod left out. */
  readonly gzipKB?: number;
  /** Modules of Node that the bundle asks for. */
  readonly nodeModules?: number;
  readonly instantiations?: number;
}

type Report = (problem: string) => void;

async function attempt<T>(name: string, report: Report, measure: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await measure();
  } catch (error) {
    report(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}

function countTypes(name: string, folder: string): number {
  const file = join(folder, "type-program.ts");
  writeFileSync(file, TYPE_PROGRAMS[name] ?? "");
  return countInstantiations(file);
}

/** `node:module` is what the bundler itself adds. */
const isOfNode = (name: string): boolean => !name.startsWith("zod") && name !== "node:module";

async function measureOne({ name, source, target }: Entry, importMs: number | undefined, report: Report): Promise<Size> {
  const bundled = await attempt(`bundle of ${name}`, report, () =>
    bundle(source, { hasZod: false, root: target.folder, platform: "node" }),
  );
  const instantiations =
    name in TYPE_PROGRAMS ? await attempt(`types of ${name}`, report, () => countTypes(name, target.folder)) : undefined;
  return {
    name,
    installMiB: target.installMiB,
    packages: target.packages,
    ...(importMs !== undefined && { importMs }),
    ...(bundled !== undefined && { gzipKB: bundled.gzipBytes / 1_000, nodeModules: bundled.imports.filter(isOfNode).length }),
    ...(instantiations !== undefined && { instantiations }),
  };
}

export async function measureSizes(rounds: number, report: Report): Promise<readonly Size[]> {
  const ours = await attempt("our packages", report, installOurs);
  const entries: Entry[] = [...(ours?.entries ?? [])];
  for (const peer of installedPeers()) {
    const target = await attempt(peer.name, report, () => installPeer(peer));
    if (target !== undefined) entries.push({ name: peer.name, source: peer.entry, target });
  }
  try {
    const targets = entries.map(({ target }) => target);
    const times = await attempt("import times", report, () => timeImports(targets, rounds));
    const sizes: Size[] = [];
    for (const entry of entries) sizes.push(await measureOne(entry, times?.get(entry.name), report));
    return sizes;
  } finally {
    ours?.close();
  }
}
