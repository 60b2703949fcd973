import type { Schema } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import { soleNode } from "@awaken/runtime/testing";
import { memoryStore } from "@awaken/stores/memory";
import type { Terminal } from "@earendil-works/pi-tui";
import xterm from "@xterm/headless";
import { vi } from "vitest";
import { createRuntime, type RuntimeInit } from "../../create-runtime.ts";
import type { Project } from "../project.ts";
import type { ChatHost } from "./chat-host.ts";
import { ChatDriver } from "./driver.ts";
import type { InputHistory } from "./input-history.ts";
import { localHost } from "./local-host.ts";
import { terminalFace } from "./terminal-face.ts";

export interface ProjectParts extends Pick<RuntimeInit, "tools" | "plugins" | "node" | "workers"> {
  readonly provider: NonNullable<RuntimeInit["providers"]>[string];
  readonly store?: Store;
  readonly outputs?: ReadonlyMap<string, Schema<unknown>>;
  /** Beside what both agents have, for the one that is talked to. */
  readonly support?: { readonly delegates?: readonly string[] };
}

/** A project with the agents `support` and `planner` over one model. */
export function openProject({
  provider,
  store = memoryStore(),
  outputs = new Map(),
  tools = [],
  plugins = [],
  // A chat that is opened after another one knows that it is gone, and works alone.
  node = soleNode(crypto.randomUUID()),
  workers = false,
  support = {},
}: ProjectParts): Project {
  const runtime = createRuntime({
    node,
    workers,
    providers: { scripted: provider },
    models: { fast: { provider: "scripted", model: "scripted-1" } },
    agents: { support: { model: "fast", plugins: plugins.map(({ id }) => id), ...support }, planner: { model: "fast" } },
    tools,
    plugins,
    store,
    log: { warn() {}, error() {} },
  });
  return {
    root: import.meta.dirname,
    configFile: "awaken.config.ts",
    runtime,
    store,
    storeLabel: "memory",
    agents: ["support", "planner"],
    outputs,
    async [Symbol.asyncDispose]() {
      await runtime[Symbol.asyncDispose]();
      await store.close();
    },
  };
}

export const openDriver = (project: Project, agent?: string): ChatDriver => driverOf(localHost(project), agent);

function driverOf(host: ChatHost, agent?: string): ChatDriver {
  let count = 0;
  return new ChatDriver({
    host,
    agent,
    newThreadId: () => {
      count += 1;
      return `thread-${count}`;
    },
  });
}

/** A terminal without a screen: what was drawn can be read, and keys can be pressed. */
class VirtualTerminal implements Terminal {
  readonly columns = 100;
  readonly rows = 60;
  readonly kittyProtocolActive = false;
  readonly #xterm = new xterm.Terminal({ cols: 100, rows: 60, scrollback: 2_000, allowProposedApi: true });
  readonly written: string[] = [];
  #onInput: (data: string) => void = () => {};

  start(onInput: (data: string) => void): void {
    this.#onInput = onInput;
  }

  press(...keys: readonly string[]): void {
    for (const key of keys) this.#onInput(key);
  }

  write(data: string): void {
    this.written.push(data);
    this.#xterm.write(data);
  }

  /** All lines that were drawn, as a person sees them. */
  async screen(): Promise<string> {
    await new Promise<void>((resolve) => this.#xterm.write("", resolve));
    const { active } = this.#xterm.buffer;
    const lines = Array.from({ length: active.length }, (_, row) => active.getLine(row)?.translateToString(true) ?? "");
    return lines.join("\n").trimEnd();
  }

  stop(): void {}
  async drainInput(): Promise<void> {}
  moveBy(): void {}
  hideCursor(): void {}
  showCursor(): void {}
  clearLine(): void {}
  clearFromCursor(): void {}
  clearScreen(): void {}
  setTitle(): void {}
  setProgress(): void {}
}

export const KEYS = {
  enter: "\r",
  escape: "\u001b",
  down: "\u001b[B",
  up: "\u001b[A",
  end: "\u001b[F",
  back: "\u007f",
  ctrlC: "\u0003",
  ctrlD: "\u0004",
};

const PATIENCE = { timeout: 120_000, interval: 10 };

/** The chat on a terminal, driven by keys. */
export interface Screen {
  readonly terminal: VirtualTerminal;
  readonly over: Promise<number>;
  /** Types a line and gives it. */
  say(line: string): void;
  /** Waits until all of these are on the screen, and gives it. */
  sees(...texts: readonly (string | RegExp)[]): Promise<string>;
  lacks(text: string): Promise<void>;
}

export const openScreen = (project: Project, thread?: string, history?: InputHistory): Screen =>
  openHostScreen(localHost(project), { thread, history });

export interface ScreenOptions {
  readonly agent?: string;
  readonly thread?: string | undefined;
  readonly history?: InputHistory | undefined;
}

export function openHostScreen(host: ChatHost, { agent, thread, history = { lines: [], add: () => {} } }: ScreenOptions = {}): Screen {
  const terminal = new VirtualTerminal();
  const over = terminalFace(driverOf(host, agent), thread, terminal, { hasColors: false, signal: new AbortController().signal, history });
  const check = async (test: (screen: string) => boolean, what: string): Promise<string> =>
    vi.waitFor(async () => {
      const screen = await terminal.screen();
      if (!test(screen)) throw new Error(`${what}:\n${screen}`);
      return screen;
    }, PATIENCE);
  return {
    terminal,
    over,
    say: (line) => terminal.press(...line, KEYS.enter),
    sees: (...texts) =>
      check(
        (screen) => texts.every((text) => (typeof text === "string" ? screen.includes(text) : text.test(screen))),
        `not seen: ${texts.join(" | ")}`,
      ),
    lacks: async (text) => {
      await check((screen) => !screen.includes(text), `still seen: ${text}`);
    },
  };
}
