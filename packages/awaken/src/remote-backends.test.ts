import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { a2a } from "./a2a.ts";
import { createRuntime } from "./index.ts";

const NOBODY = "http://127.0.0.1:9";
const agents = { legal: { remote: { a2a: NOBODY } } };
const silent = { warn() {}, error() {} };

test("an A2A agent needs no more than its address; with its defaults the backend asks public addresses alone", async () => {
  const runtime = createRuntime({ agents, log: silent });
  expect(await runtime.run({ agent: "legal", input: "may I?" })).toMatchObject({
    status: "failed",
    error: {
      code: "remote_failed",
      message: "the address 127.0.0.1 is not public, and a2a({ allow }) does not name it",
    },
  });
  await runtime.close();
});

test("a backend for A2A that was handed in is the one", async () => {
  const runtime = createRuntime({ agents, backends: [a2a({ allow: ["loopback"] })], log: silent });
  expect(await runtime.run({ agent: "legal", input: "may I?" })).toMatchObject({
    status: "failed",
    error: { code: "remote_failed", message: expect.stringMatching(/^remote error: failed to submit A2A task: .*ECONNREFUSED/) },
  });
  await runtime.close();
});

/** What a program of its own prints. */
function played(program: string): unknown {
  const cwd = join(import.meta.dirname, "..");
  const flags = ["--conditions=awaken-source", "--input-type=module", "-e"];
  const { stdout, stderr } = spawnSync(process.execPath, [...flags, program], { cwd, encoding: "utf8" });
  expect(stderr).toBe("");
  return JSON.parse(stdout);
}

const PROGRAM = `
  import { registerHooks } from "node:module";
  registerHooks({
    resolve(name, context, next) {
      if (!name.startsWith("@a2a-js/")) return next(name, context);
      throw Object.assign(new Error("Cannot find package '@a2a-js/sdk' imported from " + context.parentURL), { code: "ERR_MODULE_NOT_FOUND" });
    },
  });
  const { createRuntime } = await import("awaken");
  const runtime = createRuntime({ agents: { legal: { remote: { a2a: "https://legal.example" } } }, log: { warn() {}, error() {} } });
  const result = await runtime.run({ agent: "legal", input: "may I?" });
  console.log(JSON.stringify(result.error));
  await runtime.close();
`;

test("where the client is not installed, one line names the install", () => {
  expect(played(PROGRAM)).toEqual({
    code: "invalid_plugin",
    message: "a remote agent (A2A) needs the package @a2a-js/sdk: npm install @a2a-js/sdk@1",
  });
});

const FAILING_ONCE = `
  import { registerHooks } from "node:module";
  let tries = 0;
  registerHooks({
    resolve(name, context, next) {
      if (name.endsWith("/build-a2a.ts") && ++tries === 1) throw new Error("too many open files");
      return next(name, context);
    },
  });
  const { createRuntime } = await import("awaken");
  const runtime = createRuntime({ agents: { legal: { remote: { a2a: "${NOBODY}" } } }, log: { warn() {}, error() {} } });
  const messages = [];
  for (const input of ["may I?", "and now?"]) messages.push((await runtime.run({ agent: "legal", input })).error.message);
  console.log(JSON.stringify(messages));
  await runtime.close();
`;

test("what could not be loaded when it was first asked is loaded when it is asked again", () => {
  expect(played(FAILING_ONCE)).toEqual([expect.stringContaining("too many open files"), expect.stringContaining("is not public")]);
});
