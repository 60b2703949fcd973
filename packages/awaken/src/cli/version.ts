import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The version of this package. Sources and `dist` are equally deep in it. */
export function ownVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  const isNamed = typeof manifest === "object" && manifest !== null && "version" in manifest;
  return isNamed && typeof manifest.version === "string" ? manifest.version : "0.0.0";
}

/** The folder of this package when it is a checkout, with the other packages beside it: its sources are run, and there may be no `dist`. */
export function checkout(): string | undefined {
  const isCheckout = existsSync(new URL("../../../contract/src/index.ts", import.meta.url));
  return isCheckout ? fileURLToPath(new URL("../../", import.meta.url)).replace(/[/\\]$/, "") : undefined;
}
