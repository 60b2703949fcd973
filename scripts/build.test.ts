import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "..");

describe("build", () => {
  it("gives packages that run without our sources", () => {
    const build = spawnSync(process.execPath, [join(ROOT, "scripts/build.ts")], { encoding: "utf8", timeout: 120_000 });
    expect(build.stderr).toBe("");
    expect(build.status).toBe(0);
    const program =
      'const { createRuntime } = await import("awaken"); const { scripted, text } = await import("awaken/testing");' +
      'const runtime = createRuntime({ providers: { s: scripted([text("built")]) }, models: { m: { provider: "s", model: "s" } }, agents: { a: { model: "m" } } });' +
      'console.log((await runtime.run({ agent: "a", input: "hi" })).text);';
    const env = { ...process.env, NODE_OPTIONS: "" };
    const run = spawnSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8", cwd: ROOT, env, timeout: 30_000 });
    expect(run.stdout).toBe("built\n");
    expect(run.status).toBe(0);
  }, 150_000);
});
