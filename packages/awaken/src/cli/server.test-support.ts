import { createHash } from "node:crypto";
import { once } from "node:events";
import { jsonLines, startCli } from "./test-cli.ts";

// `awaken serve` as a process of its own.

/** An assistant that asks before it refunds. */
export const CONFIG = `
import { ask, defineTool } from "awaken";
import { parts, scripted, text, toolCall } from "awaken/testing";
import * as z from "zod";

const words = (request) => {
  const last = request.messages.at(-1);
  const said = JSON.stringify(last.content);
  if (last.role === "tool") return text("It is refunded.");
  if (said.includes("refund")) return toolCall("refund", { amount: 120 });
  if (said.includes("slow")) return parts({ type: "text-delta", delta: "first half, " }, { type: "wait", ms: 3000 }, { type: "text-delta", delta: "second half." }, { type: "stop", reason: "end-turn" });
  return text("You said it.");
};

export default {
  providers: { house: { name: "house", stream: (request, options) => scripted([words]).stream(request, options) } },
  models: { fast: { provider: "house", model: "fast-1" } },
  agents: { assistant: { model: "fast" } },
  tools: [defineTool({ id: "refund", description: "Refunds", input: z.object({ amount: z.number() }), approve: () => ask("May I?"), execute: ({ amount }) => ({ amount }) })],
  leaseMs: 2000,
};
`;

export const KEY = "a-long-random-key";
export const HASH = createHash("sha256").update(KEY).digest("hex");

export interface Served extends AsyncDisposable {
  readonly url: string;
  /** What it wrote to its log. */
  readonly lines: () => readonly Record<string, unknown>[];
  terminate(): Promise<number | null>;
}

/** Any free port; the server says which. */
export async function startServer(cwd: string, env: Readonly<Record<string, string>> = {}, ...more: readonly string[]): Promise<Served> {
  const child = startCli(["serve", "--port", "0", ...more], { cwd, env });
  let [log, said] = ["", ""];
  child.stdout.on("data", (chunk) => {
    log += String(chunk);
  });
  child.stderr.on("data", (chunk) => {
    said += String(chunk);
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.on("data", () => {
      const found = /(http:\/\/\S+) serves/.exec(said)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.once("exit", () => reject(new Error(`the server ended: ${said}`)));
  });
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    const exit = once(child, "exit");
    child.kill(signal);
    await exit;
    return child.exitCode;
  };
  return {
    url,
    lines: () => jsonLines(log),
    terminate: () => end("SIGTERM"),
    [Symbol.asyncDispose]: async () => void (await end("SIGKILL")),
  };
}
