import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";

test("the web chat example starts with one command, serves its page and its API, and leaves when it is told", async () => {
  const folder = mkdtempSync(join(tmpdir(), "awaken-web-chat-"));
  const child = spawn(process.execPath, ["--conditions=awaken-source", join(import.meta.dirname, "main.ts")], {
    cwd: folder,
    env: { ...process.env, NODE_ENV: "production", PORT: "0" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const over = once(child, "close");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await over;
    rmSync(folder, { recursive: true, force: true });
  });
  const [line] = await once(createInterface(child.stdout), "line");
  const url = /http:\S+/.exec(String(line))?.[0] ?? "";
  const page = await (await fetch(url)).text();
  expect(page).toContain("<title>Fjord &amp; Co. service</title>");
  const script = /src="([^"]+\.js)"/.exec(page)?.[1] ?? "";
  expect((await fetch(new URL(script, url))).headers.get("content-type")).toBe("text/javascript");
  expect((await fetch(new URL("/none.js", url))).status).toBe(404);
  expect((await fetch(new URL("/api/v1/ai-sdk/threads/none/messages", url))).status).toBe(404);
  child.kill("SIGINT");
  expect(await over).toEqual([0, null]);
});
