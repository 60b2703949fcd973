import { existsSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { AwakenError } from "@awaken/contract";
import type { ScopedStore, Store } from "@awaken/contract/store";
import { CliError } from "./cli-error.ts";

/** Where threads and runs live, before anything is opened. */
export type StoreChoice =
  | { readonly type: "memory" }
  | { readonly type: "sqlite"; readonly file: string }
  | { readonly type: "postgres"; readonly url: string };

export interface OpenStore {
  readonly store: Store;
  /** Without secrets. */
  readonly label: string;
}

export const DEFAULT_STORE = "awaken.db";
const FORMS = "a file, postgres://host/database, or memory";

/** What `--store` or AWAKEN_STORE says. Files are seen from `cwd`. */
export function readStoreChoice(text: string, cwd: string): StoreChoice {
  if (text.trim() === "") throw new CliError("config_validation_failed", "the store is empty", `expected ${FORMS}`);
  if (text === "memory" || text === ":memory:") return { type: "memory" };
  if (/^postgres(?:ql)?:\/\//i.test(text)) {
    if (!URL.canParse(text))
      throw new CliError("config_validation_failed", "the PostgreSQL address of the store cannot be read", `expected ${FORMS}`);
    return { type: "postgres", url: text };
  }
  const scheme = /^([a-z][a-z0-9+.-]+):\/\//i.exec(text)?.[1];
  if (scheme === undefined) return { type: "sqlite", file: resolve(cwd, text) };
  throw new CliError("config_validation_failed", `there is no store for ${scheme}://`, `expected ${FORMS}`);
}

/** The store that the command line or the environment asks for, before what the config says. */
export function askedStore({
  store,
  cwd,
  env,
}: {
  readonly store?: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}): StoreChoice | undefined {
  const asked = store ?? (env["AWAKEN_STORE"] || undefined);
  return asked === undefined ? undefined : readStoreChoice(asked, cwd);
}

export function storeLabel(choice: StoreChoice, cwd: string): string {
  switch (choice.type) {
    case "memory":
      return "memory";
    case "sqlite": {
      const inside = relative(cwd, choice.file);
      return inside.startsWith("..") ? choice.file : inside;
    }
    case "postgres": {
      const { host, pathname } = new URL(choice.url);
      return `postgres://${host}${pathname}`;
    }
  }
}

function checkPlace(file: string, label: string, mustExist: boolean): void {
  if (mustExist && !existsSync(file)) {
    throw new CliError("storage_not_found", `there is no database ${label}`, "give the file that the runs were written to with --store");
  }
  if (!existsSync(dirname(file)))
    throw new CliError("storage_not_found", `there is no folder for the database ${label}`, `mkdir -p ${dirname(file)}`);
}

export interface OpenOptions {
  /** Nothing is made where nothing is. */
  readonly mustExist?: boolean;
  /** Records are only looked at, which also works where nothing can be written. */
  readonly readsOnly?: boolean;
}

/** A server that does not answer, or a file that another process has locked, is told before anything is run. Nothing is written. */
export async function checkAnswer({ threads, transaction }: ScopedStore, readsOnly: boolean): Promise<void> {
  if (readsOnly) await threads.count({});
  else await transaction((ports) => ports.threads.count({}));
}

async function answering(store: Store, label: string, readsOnly: boolean): Promise<OpenStore> {
  try {
    await checkAnswer(store, readsOnly);
    return { store, label };
  } catch (thrown) {
    await store.close();
    throw thrown;
  }
}

async function openSqlite(file: string, readsOnly: boolean): Promise<Store> {
  const { sqliteStore } = await import("@awaken/stores/sqlite");
  try {
    return sqliteStore(file);
  } catch (thrown) {
    if (!readsOnly || !AwakenError.is(thrown) || thrown.code !== "storage_io") throw thrown;
    return sqliteStore(file, { readOnly: true });
  }
}

/** Opens it for good: a server that does not answer, or tables that a newer version wrote, are told here. */
export async function openStore(choice: StoreChoice, cwd: string, options: OpenOptions = {}): Promise<OpenStore> {
  const { mustExist = false, readsOnly = false } = options;
  const label = storeLabel(choice, cwd);
  switch (choice.type) {
    case "memory": {
      const { memoryStore } = await import("@awaken/stores/memory");
      return { store: memoryStore(), label };
    }
    case "sqlite": {
      checkPlace(choice.file, label, mustExist);
      return answering(await openSqlite(choice.file, readsOnly), label, readsOnly);
    }
    case "postgres": {
      const { postgresStore } = await import("@awaken/stores/postgres");
      return answering(postgresStore(choice.url), label, readsOnly);
    }
  }
}
