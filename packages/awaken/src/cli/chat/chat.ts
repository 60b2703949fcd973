import { randomUUID } from "node:crypto";
import { ProcessTerminal } from "@earendil-works/pi-tui";
import { COMMAND, quoted, sameProject } from "../command-name.ts";
import { catchInterrupts, type Interrupts } from "../interrupts.ts";
import { clean } from "../sanitize.ts";
import type { ProjectOptions } from "../shell.ts";
import type { ChatHost } from "./chat-host.ts";
import { redirectConsole } from "./console-redirect.ts";
import { ChatDriver } from "./driver.ts";
import { openHistory } from "./input-history.ts";
import { plainFace } from "./plain-face.ts";
import { terminalFace } from "./terminal-face.ts";

export interface ChatOptions {
  /** Default: the agent that the thread is with, else the first of the config. */
  readonly agent?: string;
  /** Default: the thread that was used last. One that does not exist is begun. */
  readonly thread?: string;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** As they were given, for lines that people copy. */
  readonly project: ProjectOptions;
}

/** Talks to agents until the person leaves: on a terminal, or line by line. Gives the exit code. */
export async function chat(host: ChatHost, options: ChatOptions): Promise<number> {
  const { agent, stdin, stdout, stderr } = options;
  const driver = new ChatDriver({ host, agent, newThreadId: () => `chat-${randomUUID().slice(0, 8)}` });
  const thread = options.thread === undefined ? undefined : await host.threadToUse(options.thread);
  // The first signal ends the chat, the second one the process.
  using interrupts = catchInterrupts(() => {});
  const isTerminal = stdin.isTTY && stdout.isTTY;
  const code = isTerminal
    ? await onTerminal(driver, thread, options, interrupts)
    : await plainFace(driver, thread, { stdin, stdout, stderr, interrupts });
  const hint = wayBack(driver, options.project);
  if (hint !== undefined) (isTerminal ? stdout : stderr).write(`${hint}\n`);
  return code;
}

/** How to come back to a thread that waits; nothing when none does, or when it is gone with the process. */
function wayBack({ talk, host }: ChatDriver, options: ProjectOptions): string | undefined {
  const { state, id, conversation } = talk;
  if (state.type !== "waiting" || !host.isLasting) return undefined;
  const more = sameProject(options);
  const what = conversation.tickets.map(({ ticket }) => ticket.toolName).join(", ");
  const [ticket] = conversation.tickets.map((open) => open.ticket.id);
  const lines = [`thread ${id} waits for a decision: ${what}`, `  come back  ${COMMAND} chat --thread ${quoted(id)}${more}`];
  return clean(
    [...lines, ...(ticket === undefined ? [] : [`  or decide  ${COMMAND} decide ${quoted(ticket)} --approve${more}`])].join("\n"),
  );
}

/** However it ends, the terminal is left as it was found, and a run that is under way comes to its end. */
async function onTerminal(
  driver: ChatDriver,
  thread: string | undefined,
  { stdout, env }: ChatOptions,
  interrupts: Interrupts,
): Promise<number> {
  const { signal } = interrupts;
  using _console = redirectConsole((text) => driver.note("info", text));
  const history = openHistory(driver.host.historyKey, env);
  const code = await terminalFace(driver, thread, new ProcessTerminal(), { hasColors: stdout.hasColors(), signal, history });
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
