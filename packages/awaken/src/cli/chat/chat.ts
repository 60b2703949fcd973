import { randomUUID } from "node:crypto";
import { ProcessTerminal } from "@earendil-works/pi-tui";
import { catchInterrupts, type Interrupts } from "../interrupts.ts";
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

/** Talks to a project's agents until the person leaves: on a terminal, or line by line. Gives the exit code. */
export async function chat(project: Project, { agent, thread, stdin, stdout }: ChatOptions): Promise<number> {
  const driver = new ChatDriver({ project, agent, newThreadId: () => `chat-${randomUUID().slice(0, 8)}` });
  // The first signal ends the chat, the second one the process.
  using interrupts = catchInterrupts(() => {});
  if (!stdin.isTTY || !stdout.isTTY) return await plainFace(driver, thread, { stdin, stdout, interrupts });
  return await onTerminal(driver, thread, stdout, interrupts);
}

/** However it ends, the terminal is left as it was found, and a run that is under way comes to its end. */
async function onTerminal(
  driver: ChatDriver,
  thread: string | undefined,
  stdout: NodeJS.WriteStream,
  interrupts: Interrupts,
): Promise<number> {
  const { signal } = interrupts;
  using _console = redirectConsole((text) => driver.note("info", text));
  const code = await terminalFace(driver, thread, new ProcessTerminal(), { hasColors: stdout.hasColors(), signal });
  if (driver.isRunning) {
    stdout.write("stopping the run; Ctrl-C leaves at once\n");
    // Whoever left by a command has not used the first signal yet.
    const leave = () => process.exit(interrupts.exitCode);
    if (!signal.aborted) signal.addEventListener("abort", leave, { once: true });
    await driver.stop();
    signal.removeEventListener("abort", leave);
  }
  return signal.aborted ? interrupts.exitCode : code;
}
