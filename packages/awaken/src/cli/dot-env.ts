import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { errorMessage } from "@awaken/contract";
import { CliError } from "./cli-error.ts";
import { type ConfigPlace, findConfig } from "./find-config.ts";

/** The folder of the config, when there is one, before the one that we are in. */
function foldersOf(place: ConfigPlace): readonly string[] {
  try {
    return [...new Set([dirname(findConfig(place)), place.cwd])];
  } catch {
    return [place.cwd];
  }
}

/** Reads `.env` beside the config file, then that of this folder, into the environment of the process. What is set already stays. */
export function loadDotEnv(place: ConfigPlace): void {
  for (const file of foldersOf(place).map((folder) => join(folder, ".env"))) {
    if (!existsSync(file)) continue;
    try {
      process.loadEnvFile(file);
    } catch (cause) {
      throw new CliError("config_validation_failed", `${file} cannot be read: ${errorMessage(cause)}`, "check its rights", { cause });
    }
  }
}
