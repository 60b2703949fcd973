import type { ProjectOptions } from "./shell.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** How this command is called in lines that people copy: what npm started is not on their path. */
export function commandName(env: Env): string {
  const isNpm = (env["npm_execpath"] ?? "") !== "" || (env["npm_command"] ?? "") !== "";
  return isNpm ? "npx awaken" : "awaken";
}

/** Of this process. */
export const COMMAND = commandName(process.env);

/** As a shell takes it. */
export const quoted = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** The options that the next command needs too. An address with a login stays out. */
export function sameProject({ config, store, server }: ProjectOptions): string {
  const options = [
    ...(config === undefined ? [] : [`--config ${quoted(config)}`]),
    ...(store === undefined ? [] : [`--store ${/:\/\//.test(store) ? "<the same>" : quoted(store)}`]),
    ...(server === undefined ? [] : [`--server ${quoted(server)}`]),
  ];
  return options.map((option) => ` ${option}`).join("");
}

/** Commands that a hint names in backticks, as they have to be typed here. */
export function typedHint(hint: string, options: ProjectOptions, name: string = COMMAND): string {
  const more = sameProject(options);
  return hint.replace(/`awaken ([a-z]+|--help|<command>)((?: [^`]*)?)`/g, (_whole, command: string, rest: string) => {
    const isComplete = more === "" || command === "init" || !/^[a-z]/.test(command) || rest.endsWith(more);
    return `\`${name} ${command}${rest}${isComplete ? "" : more}\``;
  });
}
