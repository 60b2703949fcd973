import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isJsonObject } from "@awaken/contract";
import { expect, test } from "vitest";
import { folder } from "./mcp.test-support.ts";

const SUITE = join(import.meta.dirname, "../../../../node_modules/@modelcontextprotocol/conformance/dist/index.js");
const CLIENT = join(import.meta.dirname, "test-conformance-client.ts");
/** How long a client waits before it comes back depends on what else the machine does. */
const TIMED = "client-sse-retry-timing";

/** The checks of one scenario, by what came of them. */
async function checksOf(scenario: string): Promise<readonly (readonly [id: string, status: string])[]> {
  const results = folder();
  const command = `${process.execPath} --conditions=awaken-source ${CLIENT}`;
  const child = spawn(process.execPath, [SUITE, "client", "--command", command, "--scenario", scenario, "-o", results], {
    cwd: results,
    stdio: "ignore",
  });
  await new Promise((resolve) => child.once("exit", resolve));
  const file = readdirSync(results, { recursive: true }).find((name) => String(name).endsWith("checks.json"));
  const checks: unknown = JSON.parse(readFileSync(join(results, String(file)), "utf8"));
  if (!Array.isArray(checks)) throw new Error("expected a list of checks");
  return checks.filter(isJsonObject).map(({ id, status }) => [String(id), String(status)] as const);
}

/** All client scenarios but those of OAuth, which is not part of the client, and of a draft for skills on servers. */
const SCENARIOS = [
  "initialize",
  "tools_call",
  "elicitation-sep1034-client-defaults",
  "sse-retry",
  "request-metadata",
  "sep-2322-client-request-state",
  "http-standard-headers",
  "http-custom-headers",
  "http-invalid-tool-headers",
  "json-schema-ref-no-deref",
  "json-schema-2020-12-preservation",
];

test.each(SCENARIOS)("the conformance suite, client scenario %s: every check passes", async (scenario) => {
  const checks = (await checksOf(scenario)).filter(([id, status]) => status !== "INFO" && status !== "SKIPPED" && id !== TIMED);
  expect(checks.length).toBeGreaterThan(0);
  expect(checks.filter(([, status]) => status !== "SUCCESS")).toEqual([]);
});
