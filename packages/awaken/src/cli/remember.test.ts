import { afterAll, expect, it } from "vitest";
import { cli, Folders } from "./test-cli.ts";

const folders = new Folders();
afterAll(() => folders[Symbol.dispose]());

/** Runs what it is told as a command, once for each message. */
const CONFIG = `
import { defineTool } from "awaken";
import { defineConfig } from "awaken/config";
import { permission } from "awaken/permission";
import { sqliteStore } from "awaken/sqlite";
import * as z from "zod";

const bash = defineTool({ id: "bash", description: "", input: z.object({ command: z.string() }), execute: ({ command }) => "ran " + command });
const model = {
  name: "echo",
  async *stream({ messages }) {
    const last = messages.at(-1);
    if (last.role === "tool") {
      yield { type: "text-delta", delta: JSON.stringify(last.content) };
      yield { type: "stop", reason: "end-turn" };
      return;
    }
    yield { type: "tool-call-start", id: "c" + messages.length, name: "bash" };
    yield { type: "tool-call-delta", id: "c" + messages.length, delta: JSON.stringify({ command: last.content[0].text }) };
    yield { type: "stop", reason: "tool-use" };
  },
};
export default defineConfig({
  providers: { echo: model },
  models: { fast: { provider: "echo", model: "e" } },
  agents: { assistant: { model: "fast", plugins: ["permission"] } },
  tools: [bash],
  plugins: [permission()],
  store: sqliteStore("a.db"),
});
`;

it("`awaken decide --remember` answers a permission for the rest of the thread, for what a pattern matches", async () => {
  const cwd = folders.project({ "awaken.config.ts": CONFIG });
  const run = (command: string) => cli(["run", command, "--thread", "t"], { cwd });
  const ticketOf = (stdout: string) => /awaken decide (\S+) --approve/.exec(stdout)?.[1] ?? "";
  const first = await run("npm test");
  expect({ code: first.code, stderr: first.stderr }).toMatchObject({ code: 3 });
  const odd = await cli(["decide", ticketOf(first.stdout), "--answer", "1", "--remember"], { cwd });
  expect([odd.code, odd.stderr]).toEqual([2, expect.stringContaining("--remember goes with --approve and --deny")]);
  const malformed = await cli(["decide", ticketOf(first.stdout), "--approve", "--remember", "bash("], { cwd });
  expect(malformed.stderr).toContain("parse error at 4");
  const decided = await cli(["decide", ticketOf(first.stdout), "--approve", "--remember", "bash(npm *)"], { cwd });
  expect(decided.stdout).toContain("ran npm test");
  expect((await run("npm run build")).stdout).toContain("ran npm run build");
  const other = await run("rm x");
  expect(other.code).toBe(3);
  expect((await cli(["decide", ticketOf(other.stdout), "--deny", "no", "--remember"], { cwd })).code).toBe(0);
  expect((await run("rm y")).stdout).toContain("denied by permission rules");
});
