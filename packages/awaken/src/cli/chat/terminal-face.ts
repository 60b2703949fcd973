import {
  CombinedAutocompleteProvider,
  Container,
  Editor,
  isKeyRelease,
  matchesKey,
  type SelectList,
  type SlashCommand,
  type Terminal,
  TuiMainScreen,
} from "@earendil-works/pi-tui";
import { clean } from "../sanitize.ts";
import { approvalMenu, type Choice } from "./approval-menu.ts";
import type { Change } from "./block.ts";
import { BlockView } from "./block-view.ts";
import { COMMANDS, type CommandName } from "./commands.ts";
import type { ChatDriver, Face } from "./driver.ts";
import type { InputHistory } from "./input-history.ts";
import { MAX_THREADS } from "./records.ts";
import { StatusLine } from "./status-line.ts";
import { createTheme, type Theme } from "./theme.ts";
import { WorkingLine } from "./working-line.ts";

export interface TerminalOptions {
  readonly hasColors: boolean;
  /** Ends the chat from outside, with the terminal as it was. */
  readonly signal: AbortSignal;
  readonly history: InputHistory;
}

/** The chat on a terminal. Resolves with the exit code when the person leaves. */
export async function terminalFace(
  driver: ChatDriver,
  thread: string | undefined,
  terminal: Terminal,
  options: TerminalOptions,
): Promise<number> {
  const face = new TerminalFace(driver, terminal, createTheme(options), options.history);
  const quit = () => face.quit();
  options.signal.addEventListener("abort", quit, { once: true });
  try {
    await face.run(thread);
  } finally {
    options.signal.removeEventListener("abort", quit);
  }
  return 0;
}

/** How a terminal announces text that is pasted. */
const PASTE = "\u001b[200~";

class TerminalFace implements Face {
  readonly #driver: ChatDriver;
  readonly #terminal: Terminal;
  readonly #theme: Theme;
  readonly #tui: TuiMainScreen;
  readonly #transcript = new Container();
  readonly #prompt = new Container();
  readonly #editor: Editor;
  readonly #history: InputHistory;
  readonly #working: WorkingLine;
  readonly #over = Promise.withResolvers<void>();
  #views: BlockView[] = [];
  #menu: SelectList | undefined;
  /** The tickets that the menu asks about. */
  #menuFor = "";
  /** The tickets that it was put off for. */
  #putOff = "";
  #isLeaving = false;

  constructor(driver: ChatDriver, terminal: Terminal, theme: Theme, history: InputHistory) {
    this.#history = history;
    this.#driver = driver;
    this.#terminal = terminal;
    this.#theme = theme;
    this.#tui = new TuiMainScreen(terminal);
    this.#editor = new Editor(this.#tui, theme.editor);
    this.#editor.setAutocompleteProvider(new CombinedAutocompleteProvider(slashCommands(driver), driver.host.root));
    this.#editor.onSubmit = (line) => void this.#submit(line);
    for (const line of history.lines) this.#editor.addToHistory(line);
    this.#working = new WorkingLine(driver, theme, () => this.#tui.requestRender());
    this.#prompt.addChild(this.#editor);
    for (const part of [this.#transcript, this.#working, this.#prompt, new StatusLine(driver, theme)]) this.#tui.addChild(part);
    this.#tui.addInputListener((data) => this.#onKey(data));
    this.#tui.setFocus(this.#editor);
  }

  async run(thread: string | undefined): Promise<void> {
    this.#tui.start();
    try {
      await this.#driver.start(this, thread);
      if (this.#driver.conversation.blocks.length === 0)
        this.#driver.note("info", "say something, hello for a start; /help lists the commands");
      this.onState();
      await this.#over.promise;
      await this.#terminal.drainInput();
    } finally {
      this.#working.stop();
      this.#tui.stop();
    }
  }

  quit(): void {
    this.#over.resolve();
  }

  onChange(change: Change): void {
    switch (change.type) {
      case "added":
        this.#addView(change);
        break;
      case "changed":
        this.#views[change.index]?.set(change.block);
        break;
      case "reset":
        this.#rebuild();
    }
    this.#tui.requestRender();
  }

  onState(): void {
    this.#working.update();
    this.#offerMenu();
    this.#tui.requestRender();
  }

  onSwitch(): void {
    this.#putOff = "";
    this.#rebuild();
    this.onState();
  }

  #addView({ block }: Extract<Change, { type: "added" }>): void {
    const view = new BlockView(block, this.#theme);
    this.#views.push(view);
    this.#transcript.addChild(view);
  }

  #rebuild(): void {
    this.#views = [];
    this.#transcript.clear();
    for (const [index, block] of this.#driver.conversation.blocks.entries()) this.#addView({ type: "added", index, block });
  }

  async #submit(line: string): Promise<void> {
    this.#isLeaving = false;
    if (line.trim() === "") {
      this.#putOff = "";
      this.onState();
      return;
    }
    this.#editor.addToHistory(line);
    this.#history.add(line.trim());
    const submitted = await this.#driver.submit(line);
    if (submitted.type === "quit") this.quit();
    else if (submitted.type !== "done" && this.#editor.getText() === "") this.#write(submitted.line);
    this.onState();
  }

  /** Puts a line into the editor, to be gone on with. */
  #write(line: string): void {
    this.#closeMenu();
    this.#putOff = this.#ticketIds();
    this.#editor.setText(line);
    this.#tui.requestRender();
  }

  #ticketIds(): string {
    return this.#driver.conversation.tickets.map(({ ticket }) => ticket.id).join("\n");
  }

  /** Open tickets are asked about where one types, unless something is being typed. */
  #offerMenu(): void {
    const { tickets } = this.#driver.conversation;
    const isWanted = this.#driver.talk.state.type !== "cut-off" && tickets.length > 0;
    const ids = this.#ticketIds();
    if (!isWanted) this.#putOff = "";
    if (isWanted && this.#menu !== undefined && this.#menuFor === ids) return;
    this.#closeMenu();
    if (!isWanted || this.#editor.getText() !== "" || this.#putOff === ids) return;
    this.#menuFor = ids;
    this.#menu = approvalMenu(tickets, this.#theme, (choice) => this.#choose(choice));
    this.#prompt.clear();
    this.#prompt.addChild(this.#menu);
    this.#tui.setFocus(this.#menu);
  }

  #closeMenu(): void {
    if (this.#menu === undefined) return;
    this.#menu = undefined;
    this.#prompt.clear();
    this.#prompt.addChild(this.#editor);
    this.#tui.setFocus(this.#editor);
  }

  #choose(choice: Choice): void {
    switch (choice.type) {
      case "later":
        this.#postpone();
        break;
      case "write":
        this.#write(choice.line);
        break;
      case "submit":
        this.#closeMenu();
        void this.#submit(choice.line);
    }
  }

  #postpone(): void {
    this.#putOff = this.#ticketIds();
    this.#closeMenu();
    this.#tui.requestRender();
  }

  #onKey(data: string): { consume: true } | undefined {
    if (isKeyRelease(data)) return undefined;
    if (matchesKey(data, "ctrl+c")) {
      this.#onInterrupt();
      return { consume: true };
    }
    if (matchesKey(data, "ctrl+d") && this.#editor.getText() === "") {
      this.quit();
      return { consume: true };
    }
    this.#isLeaving = false;
    // Whoever begins to write, or pastes, does not want to choose.
    if (this.#menu !== undefined && (/^[^\p{Cc}]/u.test(data) || data.startsWith(PASTE))) this.#postpone();
    return undefined;
  }

  /** Cancels the run; at rest it clears the editor, then asks once, then leaves. */
  #onInterrupt(): void {
    if (this.#driver.talk.state.type === "running") void this.#driver.submit("/cancel");
    else if (this.#editor.getText() !== "") this.#editor.setText("");
    else if (this.#isLeaving) this.quit();
    else {
      this.#isLeaving = true;
      this.#driver.note("info", "Ctrl-C again quits");
    }
    this.#tui.requestRender();
  }
}

type Completions = (typed: string) => Promise<{ value: string; label: string }[]>;

function slashCommands({ host }: ChatDriver): SlashCommand[] {
  const completing = (ids: readonly string[], typed: string) =>
    // What is complete needs no completion: Enter then gives the line.
    ids.includes(typed) ? [] : ids.filter((id) => id.startsWith(typed)).map((id) => ({ value: id, label: clean(id) }));
  const completions: Partial<Record<CommandName, Completions>> = {
    agent: async (typed) => completing(host.agents ?? [], typed),
    switch: async (typed) => completing(await host.threadIds(MAX_THREADS), typed),
  };
  return COMMANDS.map(({ name, args, does }) => {
    const complete = completions[name];
    return {
      name,
      description: does,
      ...(args === "" ? {} : { argumentHint: args }),
      ...(complete === undefined ? {} : { getArgumentCompletions: complete }),
    };
  });
}
