import { dirname } from "node:path";
import { usageError } from "../cli-error.ts";
import { Child } from "../dev/child.ts";
import { Front } from "../dev/front.ts";
import { watchFiles } from "../dev/watch.ts";
import { EXIT } from "../exit-codes.ts";
import { findConfig } from "../find-config.ts";
import { catchInterrupts } from "../interrupts.ts";
import { Output } from "../output.ts";
import type { ProjectOptions, Shell } from "../shell.ts";

export interface DevOptions extends ProjectOptions {
  readonly port?: string;
  readonly origin?: readonly string[];
}

function readPort(text: string): number {
  const port = Number(text);
  if (Number.isSafeInteger(port) && port >= 0 && port <= 65_535) return port;
  throw usageError("--port must be a whole number from 0 to 65535", "--port 3000");
}

/** Pages that somebody works on beside it: the dev servers of Vite and others. */
const OWN_PAGES = ["http://localhost:*", "http://127.0.0.1:*"];

const argsOf = ({ config, store, origin = [] }: DevOptions): readonly string[] => [
  ...(config === undefined ? [] : ["--config", config]),
  ...(store === undefined ? [] : ["--store", store]),
  ...[...OWN_PAGES, ...origin].flatMap((each) => ["--origin", each]),
];

/** Has one process serve at a time. What changes while one begins is served by the next. */
class Rotation {
  readonly #front: Front;
  readonly #begin: () => Promise<Child | undefined>;
  readonly #out: Output;
  readonly #leaving = new Set<Promise<void>>();
  #current: Child | undefined;
  #isDue = false;
  #turning: Promise<void> | undefined;
  #isOver = false;

  constructor(front: Front, begin: () => Promise<Child | undefined>, out: Output) {
    this.#front = front;
    this.#begin = begin;
    this.#out = out;
  }

  get current(): Child | undefined {
    return this.#current;
  }

  turn(): Promise<void> {
    this.#isDue = true;
    this.#turning ??= this.#turn().finally(() => {
      this.#turning = undefined;
    });
    return this.#turning;
  }

  async #turn(): Promise<void> {
    while (this.#isDue && !this.#isOver) {
      this.#isDue = false;
      const next = await this.#begin();
      if (next === undefined) this.#keep();
      else this.#replace(next);
    }
  }

  #keep(): void {
    const kept = this.#current === undefined ? "nobody serves yet; a change tries again" : "what was there before goes on serving";
    this.#out.note(`· it does not load: ${kept}`, "yellow");
  }

  #replace(next: Child): void {
    const before = this.#current;
    this.#current = next;
    this.#front.target = next.port;
    void next.ended.then(() => this.#died(next));
    if (before === undefined) return;
    this.#out.note("· changed: the new one serves, the old one ends its tools and leaves its runs");
    const leaving = before.leave().finally(() => this.#leaving.delete(leaving));
    this.#leaving.add(leaving);
  }

  #died(child: Child): void {
    if (this.#current !== child || this.#isOver) return;
    this.#current = undefined;
    this.#front.target = undefined;
    this.#out.note("· the process that served has ended; another one begins", "yellow");
    void this.turn();
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await this.#turning;
    await Promise.all([this.#current?.leave(), ...this.#leaving]);
  }
}

/** Serves the project while somebody works on it: the port stays open, each change is served by a process of its own. */
export async function dev(shell: Shell, options: DevOptions): Promise<number> {
  const out = new Output(shell);
  const port = readPort(options.port ?? shell.env["PORT"] ?? "3000");
  const root = dirname(findConfig({ cwd: shell.cwd, ...(options.config === undefined ? {} : { config: options.config }) }));
  const front = await Front.listen(port);
  const begin = () => Child.start({ args: argsOf(options), cwd: shell.cwd, env: shell.env, say: (text) => out.note(text, "reset") });
  const rotation = new Rotation(front, begin, out);
  using interrupts = catchInterrupts(() => out.note("· leaving; once more leaves at once"));
  using _watching = watchFiles(root, () => void rotation.turn());
  await rotation.turn();
  const url = `http://localhost:${front.port}`;
  out.line(
    `${url}                    ${rotation.current === undefined ? "waits for a project that loads" : `keeps its records in ${rotation.current.store}`}`,
  );
  out.fields([
    ["run", `${url}/v1/runs`],
    ["AI SDK", `${url}/v1/ai-sdk/chat`],
    ["AG-UI", `${url}/v1/ag-ui/run`],
    ["OpenAPI", `${url}/openapi.json`],
  ]);
  if (!interrupts.signal.aborted) await new Promise((resolve) => interrupts.signal.addEventListener("abort", resolve, { once: true }));
  await rotation.close();
  await front.close();
  return EXIT.ok;
}
