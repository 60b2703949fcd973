import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";

const MAIN = join(import.meta.dirname, "../../packages/awaken/src/cli/main.ts");

function database(): string {
  const folder = mkdtempSync(join(tmpdir(), "awaken-example-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "chat.db");
}

/** `awaken chat` in this folder, without a key, fed with lines. */
function openChat(store: string, thread = "t1") {
  const child = spawn(process.execPath, ["--conditions=awaken-source", MAIN, "chat", "--store", store, "--thread", thread], {
    cwd: import.meta.dirname,
    env: { ...process.env, AWAKEN_MODEL: "demo" },
  });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  let said = "";
  let problems = "";
  const heard: (() => void)[] = [];
  child.stdout.on("data", (chunk: Buffer) => {
    said += chunk.toString("utf8");
    for (const tell of heard) tell();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    problems += chunk.toString("utf8");
  });
  const over = new Promise<{ readonly code: number | null; readonly said: string; readonly problems: string }>((resolve) => {
    child.on("close", (code) => resolve({ code, said, problems }));
  });
  const hears = (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = () => {
        if (said.includes(text)) resolve();
      };
      heard.push(look);
      look();
      void over.then(() => reject(new Error(`it ended without saying ${text}:\n${said}\n${problems}`)));
    });
  return {
    over,
    hears,
    say: (line: string) => child.stdin.write(`${line}\n`),
    end: () => child.stdin.end(),
    kill: () => child.kill("SIGKILL"),
  };
}

describe("the chat example", () => {
  it("shows an answer, parallel tools, data and a refused order, without a key", async () => {
    const chat = openChat(database());
    for (const line of ["hello", "weather in Oslo and Rome", "refund order 7", "/deny too much", "/agent planner", "plan a picnic"])
      chat.say(line);
    chat.end();
    const { code, said, problems } = await chat.over;
    expect(code).toBe(0);
    expect(said).toContain("I am a **demo model**");
    expect(problems).toContain('* weather {"city":"Rome"} 33% asking the station');
    expect(said).toMatch(/- \*\*Oslo\*\*: \d+ degrees[^\n]*\n- \*\*Rome\*\*: \d+ degrees/);
    expect(problems).toContain("denied: too much");
    expect(said).toContain('"goal": "a picnic"');
  });

  it("an approval outlives kill -9: the next start asks again, and goes on", async () => {
    const store = database();
    const first = openChat(store);
    first.say("refund order 7");
    await first.hears("? #1 Refund 120 for order 7?");
    first.kill();
    await first.over;

    const second = openChat(store);
    second.say('/approve {"orderId":"7","amount":90}');
    second.end();
    const { code, said } = await second.over;
    expect(code).toBe(0);
    expect(said).toContain("? #1 Refund 120 for order 7?");
    expect(said).toContain("- 90 are on their way back for order 7");
  });
});
