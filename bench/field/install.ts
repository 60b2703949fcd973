import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PEERS, type Peer } from "./peer-list.ts";

/** Each peer lives in a folder of its own, so that their versions cannot mix, and outside of our workspace. */
export const PEERS_FOLDER = join(import.meta.dirname, "../.peers");

export const folderOf = (name: string): string => join(PEERS_FOLDER, name);

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly overrides?: Readonly<Record<string, string>>;
}

/** Written when an install is complete, with what was asked for. */
const receiptOf = (folder: string): string => join(folder, "installed.json");

const textOf = ({ dependencies, overrides = {} }: Manifest): string =>
  JSON.stringify({ private: true, type: "module", dependencies, overrides }, undefined, 2);

export function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: "utf8", maxBuffer: 1 << 26 });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed:\n${stdout.slice(-1_000)}${stderr.slice(-1_000)}`);
  return stdout;
}

export const npm = (args: readonly string[], cwd: string): string =>
  run("npm", [...args, "--no-audit", "--no-fund", "--loglevel=error"], cwd);

const hasInstalled = (folder: string, manifest: Manifest): boolean =>
  existsSync(receiptOf(folder)) && readFileSync(receiptOf(folder), "utf8") === textOf(manifest);

/** A clean install of just these packages. No script of theirs is run. */
export function installInto(folder: string, manifest: Manifest): void {
  if (hasInstalled(folder, manifest)) return;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), textOf(manifest));
  npm(["install", "--ignore-scripts"], folder);
  writeFileSync(receiptOf(folder), textOf(manifest));
}

type Named = Manifest & { readonly name: string };

export const isInstalled = (peer: Named): boolean => hasInstalled(folderOf(peer.name), peer);

export const installedPeers = (): readonly Peer[] => PEERS.filter(isInstalled);

export const install = (peer: Named): void => installInto(folderOf(peer.name), peer);
