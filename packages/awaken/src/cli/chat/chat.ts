import { randomUUID } from "node:crypto";
import { ProcessTerminal } from "@earendil-works/pi-tui";
import type { Project } from "../project.ts";
import { redirectConsole } from "./console-redirect.ts";
import { ChatDriver } from "./driver.ts";
import { plainFace } from "./plain-face.ts";
import { terminalFace } from "./terminal-face.ts";

export interface ChatOptions {
  /** Default: the agent that the thread is with, else the first of the config. */
  readonly agent?: string;
  /** Default: the thread that was used last. One that does not exist is begun. */
  readonly thread?: string;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Talks to a project's agents until the person leaves: on a terminal, or line by line. Gives the exit code. */
export async function chat(project: Project, { agent, thread, stdin, stdout }: ChatOptions): Promise<number> {
  const driver = new ChatDriver({ project, agent, newThreadId: () => `chat-${randomUUID().slice(0, 8)}` });
  if (!stdin.isTTY || !stdout.isTTY) return plainFace(driver, thread, { stdin, stdout });
  return onTerminal(driver, thread, stdout);
}

/** However it ends, the terminal is left as it was found. */
async function onTerminal(driver: ChatDriver, thread: string | undefined, stdout: NodeJS.WriteStream): Promise<number> {
  const closing = new AbortController();
  const close = () => closing.abort();
  for (const signal of SIGNALS) process.once(signal, close);
  using _console = redirectConsole((text) => driver.note("info", text));
  try {
    return await terminalFace(driver, thread, new ProcessTerminal(), { hasColors: stdout.hasColors(), signal: closing.signal });
  } finally {
    for (const signal of SIGNALS) process.off(signal, close);
  }
}
