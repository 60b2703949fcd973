import { readFileSync } from "node:fs";

/** The version of this package. Sources and `dist` are equally deep in it. */
export function ownVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  const isNamed = typeof manifest === "object" && manifest !== null && "version" in manifest;
  return isNamed && typeof manifest.version === "string" ? manifest.version : "0.0.0";
}
