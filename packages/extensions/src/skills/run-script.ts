import { type ChildProcess, spawn } from "node:child_process";
import { extname } from "node:path";
import { type Clock, onAbort } from "@awaken/runtime";
import { SkillError } from "./skill-error.ts";
import type { SkillScript } from "./types.ts";

const MAX_OUTPUT = 32 * 1024;
const MAX_ARGS = 64;
const MAX_ARG_BYTES = 8 * 1024;
const MAX_ARGS_BYTES = 64 * 1024;
export const SCRIPT_MS = 60_000;

const RUNTIMES: ReadonlyMap<string, string> = new Map([
  [".sh", "bash"],
  [".py", "python3"],
  [".js", process.execPath],
]);

const isWindows = process.platform === "win32";

export interface ScriptInit {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Names of variables of ours that scripts may see beside the few that they need. */
  readonly env: readonly string[];
}

export interface ScriptResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly stdoutTruncated: boolean;
  readonly stderrTruncated: boolean;
}

/** Keeps the beginning of what is written, and takes the rest so that the writer does not wait. */
class Output {
  #chunks: Buffer[] = [];
  #bytes = 0;
  isTruncated = false;

  add(chunk: Buffer): void {
    const room = MAX_OUTPUT - this.#bytes;
    if (chunk.length > room) this.isTruncated = true;
    if (room <= 0) return;
    this.#chunks.push(chunk.subarray(0, room));
    this.#bytes += Math.min(chunk.length, room);
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString("utf8");
  }
}

function checkArgs(args: readonly string[]): void {
  const sizes = args.map((arg) => Buffer.byteLength(arg));
  const isTooMuch =
    args.length > MAX_ARGS || sizes.some((size) => size > MAX_ARG_BYTES) || sizes.reduce((a, b) => a + b, 0) > MAX_ARGS_BYTES;
  if (isTooMuch) throw new SkillError("invalid_arguments", `a script takes at most ${MAX_ARGS} arguments of 8 KiB, 64 KiB together`);
  if (args.some((arg) => arg.includes("\0"))) throw new SkillError("invalid_arguments", "an argument holds a NUL");
}

/** The least that programs need, and what is allowed by name. */
function scriptEnv(root: string, allowed: readonly string[]): Record<string, string> {
  const names = ["PATH", "HOME", "LANG", ...allowed];
  const own = names.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(own), SKILL_DIR: root };
}

function kill(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    if (isWindows) child.kill("SIGKILL");
    else process.kill(-child.pid, "SIGKILL");
  } catch {
    // Nobody is left.
  }
}

/** Runs a script in the folder of its skill, with all that it starts for at most a minute. Throws a `SkillError`. */
export async function runScript({ path, root }: SkillScript, args: readonly string[], init: ScriptInit): Promise<ScriptResult> {
  const runtime = RUNTIMES.get(extname(path));
  if (runtime === undefined) {
    throw new SkillError("unsupported_runtime", `'${extname(path)}' is not run: only ${[...RUNTIMES.keys()].join(", ")} are`);
  }
  checkArgs(args);
  const child = spawn(runtime, [path, ...args], {
    cwd: root,
    env: scriptEnv(root, init.env),
    stdio: ["ignore", "pipe", "pipe"],
    detached: !isWindows,
    windowsHide: true,
  });
  const [stdout, stderr] = [new Output(), new Output()];
  child.stdout.on("data", (chunk: Buffer) => stdout.add(chunk));
  child.stderr.on("data", (chunk: Buffer) => stderr.add(chunk));
  let isLate = false;
  const stopTimer = init.clock.timer(SCRIPT_MS, () => {
    isLate = true;
    kill(child);
  });
  const off = onAbort(init.signal, () => kill(child));
  try {
    const exitCode = await ended(child, runtime);
    // What it left running goes with it.
    kill(child);
    if (isLate) throw new SkillError("script_timeout", `the script ran longer than ${SCRIPT_MS / 1_000} s and was stopped`);
    if (init.signal.aborted) throw new SkillError("io_error", "the run was cancelled");
    return { exitCode, stdout: stdout.text, stderr: stderr.text, stdoutTruncated: stdout.isTruncated, stderrTruncated: stderr.isTruncated };
  } finally {
    stopTimer();
    off();
  }
}

/** When the script itself has left: what it started may hold its pipes, and is not waited for. */
function ended(child: ChildProcess, runtime: string): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once("error", (error) => reject(new SkillError("unsupported_runtime", `'${runtime}' cannot be started: ${error.message}`)));
    child.once("exit", (code) => {
      const late = setTimeout(() => resolve(code), 100);
      child.once("close", () => {
        clearTimeout(late);
        resolve(code);
      });
    });
  });
}
