/** What a command has of the process around it. */
export interface Shell {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Takes secrets of the environment and the command line out of a text. */
  readonly redact: (text: string) => string;
}

/** Options of every command that opens a project or its store. */
export interface ProjectOptions {
  readonly config?: string;
  readonly store?: string;
  /** A server that is asked instead of a store. */
  readonly server?: string;
  /** What it knows the caller by. */
  readonly key?: string;
}
