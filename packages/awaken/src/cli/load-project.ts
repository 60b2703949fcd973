import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Store } from "@awaken/contract/store";
import type { ProjectConfig } from "../config.ts";
import type { Runtime } from "../create-runtime.ts";
import { checkConfig } from "./check-config.ts";
import { askedStore, checkAnswer, DEFAULT_STORE, type OpenOptions, type OpenStore, openStore, storeLabel } from "./choose-store.ts";
import { configFailure, findConfig, importConfig } from "./find-config.ts";
import type { Project } from "./project.ts";
import type { ProjectOptions } from "./shell.ts";

export interface LoadOptions extends ProjectOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface LoadedConfig {
  readonly file: string;
  readonly root: string;
  readonly config: ProjectConfig;
}

/** A store as it was found, and what has to be closed with it. */
export interface ProjectStore extends AsyncDisposable {
  readonly store: Store;
  readonly label: string;
}

/** Reads the config. The process moves to its folder, where relative paths of the config start. */
export async function loadConfig(options: LoadOptions): Promise<LoadedConfig> {
  const file = findConfig(options);
  const root = dirname(file);
  process.chdir(root);
  const config = checkConfig(await importConfig(file), basename(file));
  return { file, root, config };
}

const isClosable = (store: Store): store is Store & AsyncDisposable =>
  Symbol.asyncDispose in store && typeof store[Symbol.asyncDispose] === "function";

async function close(store: Store): Promise<void> {
  if (isClosable(store)) await store[Symbol.asyncDispose]();
}

const ofOpen = ({ store, label }: OpenStore): ProjectStore => ({ store, label, [Symbol.asyncDispose]: () => store.close() });

/** Commands that only look for records make no file: where none is, nothing was written yet. */
async function openDefault(file: string, cwd: string, options: OpenOptions): Promise<OpenStore> {
  const choice = { type: "sqlite", file } as const;
  if (!options.mustExist || existsSync(file)) return openStore(choice, cwd, options);
  const { store } = await openStore({ type: "memory" }, cwd);
  return { store, label: storeLabel(choice, cwd) };
}

/** The store that is asked for, else that of the config, else a file beside it. */
export async function openProjectStore(options: LoadOptions, loaded: LoadedConfig, use: OpenOptions = {}): Promise<ProjectStore> {
  const { config, root, file } = loaded;
  const asked = askedStore(options);
  if (asked === undefined) {
    if (config.store === undefined) return ofOpen(await openDefault(join(root, DEFAULT_STORE), options.cwd, use));
    const { store } = config;
    await checkAnswer(store, use.readsOnly ?? false);
    return { store, label: `the store of ${basename(file)}`, [Symbol.asyncDispose]: () => close(store) };
  }
  // The config has opened its own already, and nobody will use it.
  if (config.store !== undefined) await close(config.store);
  return ofOpen(await openStore(asked, options.cwd, use));
}

/** The store of a project alone: when it is asked for by name, no config is needed. */
export async function openRecords(options: LoadOptions, use: OpenOptions = { mustExist: true, readsOnly: true }): Promise<ProjectStore> {
  const asked = askedStore(options);
  if (asked !== undefined) return ofOpen(await openStore(asked, options.cwd, use));
  return openProjectStore(options, await loadConfig(options), use);
}

/** The runtime of a config over this store. A mistake in any agent is told here. */
export async function openRuntime({ config, file }: LoadedConfig, store: Store): Promise<Runtime> {
  const { outputs: _outputs, ...init } = config;
  // Commands that only read do not load it.
  const { createRuntime } = await import("../create-runtime.ts");
  try {
    // A command does what it is asked for, and leaves what waits in the queue to those who serve it.
    return createRuntime({ workers: false, ...init, store });
  } catch (thrown) {
    throw configFailure(thrown, file);
  }
}

/** Agents that run here, in the order of the config; those that live elsewhere are left out. */
function localAgents(config: ProjectConfig, runtime: Runtime): readonly string[] {
  const { agents } = runtime.registry.snapshot().registries;
  return Object.keys(config.agents).filter((id) => agents.get(id)?.type === "local");
}

/** Finds, checks and opens the project of a folder. */
export async function loadProject(options: LoadOptions, use: OpenOptions = {}): Promise<Project> {
  const loaded = await loadConfig(options);
  const opened = await openProjectStore(options, loaded, use);
  try {
    const runtime = await openRuntime(loaded, opened.store);
    return {
      root: loaded.root,
      configFile: loaded.file,
      runtime,
      store: opened.store,
      storeLabel: opened.label,
      agents: localAgents(loaded.config, runtime),
      outputs: new Map(Object.entries(loaded.config.outputs ?? {})),
      async [Symbol.asyncDispose]() {
        await runtime[Symbol.asyncDispose]();
        await opened[Symbol.asyncDispose]();
      },
    };
  } catch (thrown) {
    await opened[Symbol.asyncDispose]();
    throw thrown;
  }
}
