import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";

export interface ChildInit {
  /** What `awaken serve` is asked with. */
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What it has to say to people. */
  readonly say: (text: string) => void;
}

/** The longest that tools are waited for, and what leaving takes beside it. */
export const GRACE_SECONDS = 10;
const KILL_MS = (GRACE_SECONDS + 5) * 1_000;

/** One process that serves the project as its files were when it began. */
export class Child {
  readonly port: number;
  /** Where it keeps its records, in words. */
  readonly store: string;
  readonly #process: ChildProcess;

  private constructor(child: ChildProcess, port: number, store: string) {
    this.#process = child;
    this.port = port;
    this.store = store;
  }

  /** Undefined when it could not begin: it has said why. */
  static async start({ args, cwd, env, say }: ChildInit): Promise<Child | undefined> {
    const [, main = ""] = process.argv;
    const child = fork(main, ["serve", "--port", "0", "--grace", String(GRACE_SECONDS), ...args], {
      cwd,
      env,
      execArgv: process.execArgv,
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    let isReady = false;
    // Where it listens itself is nobody's business.
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      const told = text.replace(/^· .*\n?/gm, "");
      if (told.trim() !== "") say(told.trimEnd());
    });
    const begun = once(child, "message").then(([message]): { readonly port: number; readonly store: string } => {
      isReady = true;
      return { port: Number(Object(message).port), store: String(Object(message).store) };
    });
    const ended = once(child, "close").then(() => undefined);
    const told = await Promise.race([begun, ended]);
    if (told === undefined || !isReady) return undefined;
    return new Child(child, told.port, told.store);
  }

  /** Resolves when it has ended, for whatever reason. */
  get ended(): Promise<unknown> {
    return this.#isOver ? Promise.resolve() : once(this.#process, "exit");
  }

  get #isOver(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  /** Tools come to their end, runs are left to whoever serves now. */
  async leave(): Promise<void> {
    if (this.#isOver) return;
    const { ended } = this;
    this.#process.kill("SIGTERM");
    const kill = setTimeout(() => this.#process.kill("SIGKILL"), KILL_MS);
    await ended;
    clearTimeout(kill);
  }
}
