/** One slash command: what people type, and what it does in a line. */
export interface CommandInfo {
  readonly name: string;
  readonly args: string;
  readonly does: string;
}

export const COMMANDS = [
  { name: "approve", args: "[#n | all] [json]", does: "let a waiting call run, as it is or with this input" },
  {
    name: "always",
    args: "[#n | all:] [pattern]",
    does: "let it run, and for the rest of the thread its tool, or what the pattern matches",
  },
  { name: "never", args: "[#n | all:] [pattern]", does: "refuse it, and for the rest of the thread its tool, or what the pattern matches" },
  { name: "edit", args: "[#n]", does: "put the input of a waiting call into the editor" },
  { name: "deny", args: "[#n | all:] [reason]", does: "refuse a waiting call; the model reads the reason" },
  { name: "answer", args: "[#n] <json>", does: "give the result of a waiting call yourself" },
  { name: "send", args: "[message]", does: "send a message although a call waits, which withdraws the call" },
  { name: "agents", args: "", does: "list the agents" },
  { name: "agent", args: "<id>", does: "talk to another agent" },
  { name: "threads", args: "", does: "list the threads" },
  { name: "switch", args: "<thread>", does: "go on with another thread" },
  { name: "new", args: "", does: "begin a new thread" },
  { name: "state", args: "", does: "show the state of the thread and of its run" },
  { name: "events", args: "[n]", does: "show the last events of the thread" },
  { name: "cancel", args: "", does: "cancel the run" },
  { name: "resume", args: "", does: "go on with a run that was cut off" },
  { name: "help", args: "", does: "show this" },
  { name: "quit", args: "", does: "leave" },
] as const satisfies readonly CommandInfo[];

export type CommandName = (typeof COMMANDS)[number]["name"];

/** What one line of input means. */
export type Line =
  | { readonly type: "nothing" }
  | { readonly type: "message"; readonly text: string }
  | { readonly type: "command"; readonly name: CommandName; readonly rest: string }
  | { readonly type: "unknown"; readonly name: string };

/** A message may begin with a slash, too: then it is written twice. */
export function parseLine(text: string): Line {
  const line = text.trim();
  if (line === "") return { type: "nothing" };
  if (line.startsWith("//")) return { type: "message", text: line.slice(1) };
  if (!line.startsWith("/")) return { type: "message", text: line };
  const [, name = "", rest = ""] = /^\/(\S*)\s*([\s\S]*)$/.exec(line) ?? [];
  const known = COMMANDS.find((command) => command.name === name || (name === "exit" && command.name === "quit"));
  return known === undefined ? { type: "unknown", name } : { type: "command", name: known.name, rest };
}

export function helpText(): string {
  const rows = COMMANDS.map(({ name, args, does }) => [`/${name} ${args}`.trimEnd(), does] as const);
  const width = Math.max(...rows.map(([usage]) => usage.length));
  return [
    ...rows.map(([usage, does]) => `${usage.padEnd(width)}  ${does}`),
    "",
    "Anything else is a message. //text sends a message that begins with a slash.",
    "Ctrl-C cancels the run; at rest, twice, it quits.",
  ].join("\n");
}
