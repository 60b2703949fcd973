import type { Schema } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import type { RuntimeInit } from "./create-runtime.ts";

export { type Vendor, type VendorChoice, type VendorOptions, vendorFromEnv } from "./vendor-from-env.ts";

/** What `awaken.config.ts` exports: a runtime's options, and what only the command line needs. */
export interface ProjectConfig extends RuntimeInit {
  /** Of all tenants; the command shows the default one. Default: a file beside the config. */
  readonly store?: Store;
  /** Shapes of answers, by agent: `awaken chat` and `awaken run` ask for them and show what they got. */
  readonly outputs?: { readonly [agentId: string]: Schema<unknown> };
}

/** A function when something has to be awaited or read from the environment first. */
export type ConfigSource = ProjectConfig | (() => ProjectConfig | Promise<ProjectConfig>);

/** Types a config file. It gives back what it was given. */
export function defineConfig<const C extends ConfigSource>(config: C): C {
  return config;
}
