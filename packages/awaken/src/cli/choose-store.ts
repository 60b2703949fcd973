import { existsSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import type { Store } from "@awaken/contract";
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

/** Opens it for good: a server that does not answer, or tables that a newer version wrote, are told here. */
export async function openStore(choice: StoreChoice, cwd: string, { mustExist = false } = {}): Promise<OpenStore> {
  const label = storeLabel(choice, cwd);
  switch (choice.type) {
    case "memory": {
      const { memoryStore } = await import("@awaken/stores/memory");
      return { store: memoryStore(), label };
    }
    case "sqlite": {
      checkPlace(choice.file, label, mustExist);
      const { sqliteStore } = await import("@awaken/stores/sqlite");
      return { store: sqliteStore(choice.file), label };
    }
    case "postgres": {
      const { postgresStore } = await import("@awaken/stores/postgres");
      const store = postgresStore(choice.url);
      try {
        await store.threads.count({});
        return { store, label };
      } catch (thrown) {
        await store.close();
        throw thrown;
      }
    }
  }
}
