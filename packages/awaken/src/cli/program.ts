import { Command, CommanderError } from "commander";
import { typedHint } from "./command-name.ts";
import type { AttachCommandOptions } from "./commands/attach.ts";
import type { CancelOptions } from "./commands/cancel.ts";
import type { ChatCommandOptions } from "./commands/chat.ts";
import type { DeadLetterOptions } from "./commands/dead-letters.ts";
import type { DecideOptions } from "./commands/decide.ts";
import type { DevOptions } from "./commands/dev.ts";
import type { DoctorOptions } from "./commands/doctor.ts";
import type { EventsOptions } from "./commands/events.ts";
import type { InitOptions } from "./commands/init.ts";
import type { RunOptions } from "./commands/run.ts";
import type { RunsOptions } from "./commands/runs.ts";
import type { ServeOptions } from "./commands/serve.ts";
import type { ListOptions } from "./commands/threads.ts";
import type { TraceOptions } from "./commands/trace.ts";
import { EXIT, EXIT_HELP } from "./exit-codes.ts";
import type { FollowOptions } from "./follow-run.ts";
import { Output } from "./output.ts";
import { createRedactor } from "./redact.ts";
import type { ProjectOptions, Shell } from "./shell.ts";
import { ownVersion } from "./version.ts";

/** Keeps the exit code of the command that ran. */
interface Outcome {
  code: number;
}

const example = (...lines: readonly string[]): string => `\nExample:\n${lines.map((line) => `  $ ${line}`).join("\n")}`;

function addProjectOptions(command: Command, store = "a file, postgres://host/database, or memory; AWAKEN_STORE says the same"): Command {
  return command
    .option("--config <file>", "the config file, instead of the nearest awaken.config.ts")
    .option("--store <store>", store)
    .option("--debug", "show the stack of an error");
}

/** For commands that a server can be asked for. */
function orServer(command: Command): Command {
  return command
    .option("--server <url>", "ask this server, as `awaken serve` is one, instead of a store")
    .option("--key <key>", "what the server knows you by; AWAKEN_SERVER_KEY says the same, and no list of processes shows it");
}

const RECORDS = "the store to read; with it no config is needed";

function addTalk(program: Command, shell: Shell, outcome: Outcome): void {
  orServer(addProjectOptions(program.command("chat").description("talk to an agent in the terminal")))
    .option("--agent <id>", "the agent to talk to")
    .option("--thread <id>", "the thread to go on with, instead of the last one")
    .addHelpText("after", example("awaken chat --agent assistant"))
    .action(async (options: ChatCommandOptions) => {
      const { chat } = await (options.server === undefined ? import("./commands/chat.ts") : import("./remote/chat.ts"));
      outcome.code = await chat(shell, options);
    });
  orServer(addProjectOptions(program.command("run").description("run an agent once and stream its answer")))
    .argument("[input]", "what to say; - or nothing reads stdin")
    .option("--agent <id>", "the agent; may be left out when there is only one, or the thread has one")
    .option("--thread <id>", "the thread to go on with, instead of a new one")
    .option("--json", "one line of JSON for each event, and one with the result")
    .addHelpText(
      "after",
      `${example('awaken run "Weather in Oslo?" --agent assistant', "cat question.txt | awaken run --json")}\n${EXIT_HELP}`,
    )
    .action(async (input: string | undefined, options: RunOptions) => {
      const { run } = await (options.server === undefined ? import("./commands/run.ts") : import("./remote/talk.ts"));
      outcome.code = await run(shell, input, options);
    });
}

function addDecisions(program: Command, shell: Shell, outcome: Outcome): void {
  orServer(addProjectOptions(program.command("decide").description("decide about a call that waits, and go on with its run")))
    .argument("<ticket>", "the ticket, as `awaken run` and `awaken show` print it")
    .option("--approve", "let the tool run")
    .option("--input <json>", "with --approve: run it with this input instead")
    .option("--deny <reason>", "refuse; the model reads the reason")
    .option("--answer <json>", "give the tool's result yourself")
    .option("--remember [pattern]", "of a permission: for the rest of the thread, its tool or what the pattern matches")
    .option("--by <name>", "who decides, for the record")
    .option("--run <id>", "the run or the thread of the ticket; with a run, the id of its call will do")
    .option("--json", "one line of JSON for each event, and one with the result")
    .addHelpText("after", `${example("awaken decide call_1 --approve --by ana", 'awaken decide call_1 --deny "too much"')}\n${EXIT_HELP}`)
    .action(async (ticket: string, options: DecideOptions) => {
      const { decide } = await (options.server === undefined ? import("./commands/decide.ts") : import("./remote/talk.ts"));
      outcome.code = await decide(shell, ticket, options);
    });
  addProjectOptions(program.command("resume").description("go on with a run that was cut off, and that nobody executes"))
    .argument("<run|thread>", "the run, or the thread that has it open")
    .option("--json", "one line of JSON for each event, and one with the result")
    .addHelpText("after", `${example("awaken resume 01999c2e-run")}\n${EXIT_HELP}`)
    .action(async (id: string, options: FollowOptions) => {
      const { resume } = await import("./commands/resume.ts");
      outcome.code = await resume(shell, id, options);
    });
  orServer(addProjectOptions(program.command("cancel").description("end a run that waits, or that was cut off")))
    .argument("<run|thread>", "the run, or the thread that has it open")
    .option("--cut-off", "end a run that says it is running, when its process is gone")
    .option("--json", "the result as one line of JSON")
    .addHelpText("after", example("awaken cancel 01999c2e-run"))
    .action(async (id: string, options: CancelOptions) => {
      const { cancel } = await (options.server === undefined ? import("./commands/cancel.ts") : import("./remote/talk.ts"));
      outcome.code = await cancel(shell, id, options);
    });
}

function addRecords(program: Command, shell: Shell, outcome: Outcome): void {
  orServer(addProjectOptions(program.command("threads").description("list threads, the one that was used last first"), RECORDS))
    .option("--limit <count>", "how many; 50 when left out")
    .option("--json", "one line of JSON for each")
    .addHelpText("after", example("awaken threads --store awaken.db --limit 10"))
    .action(async (options: ListOptions) => {
      const { threads } = await (options.server === undefined ? import("./commands/threads.ts") : import("./remote/records.ts"));
      outcome.code = await threads(shell, options);
    });
  orServer(addProjectOptions(program.command("runs").description("list runs, the newest last"), RECORDS))
    .option("--status <list>", "created, running, waiting, done, stopped, cancelled, blocked, failed")
    .option("--thread <id>", "of this thread only")
    .option("--limit <count>", "how many; 50 when left out")
    .option("--json", "one line of JSON for each")
    .addHelpText("after", example("awaken runs --status waiting"))
    .action(async (options: RunsOptions) => {
      const { runs } = await (options.server === undefined ? import("./commands/runs.ts") : import("./remote/records.ts"));
      outcome.code = await runs(shell, options);
    });
  orServer(addProjectOptions(program.command("show").description("show a thread with its messages, or a run"), RECORDS))
    .argument("<thread|run>")
    .option("--limit <count>", "how many messages; 50 when left out")
    .option("--json", "all of it as one line of JSON")
    .addHelpText("after", example("awaken show t1"))
    .action(async (id: string, options: ListOptions) => {
      const { show } = await (options.server === undefined ? import("./commands/show.ts") : import("./remote/records.ts"));
      outcome.code = await show(shell, id, options);
    });
  orServer(addProjectOptions(program.command("events").description("list what happened in a thread or a run"), RECORDS))
    .argument("<thread|run>")
    .option("--after <cursor>", "only what came after this one")
    .option("--limit <count>", "how many; 100 when left out")
    .option("--follow", "then wait for more, until Ctrl-C")
    .option("--json", "one line of JSON for each, with its cursors")
    .addHelpText("after", example("awaken events t1 --limit 20", "awaken events t1 --follow"))
    .action(async (id: string, options: EventsOptions) => {
      const { events } = await (options.server === undefined ? import("./commands/events.ts") : import("./remote/events.ts"));
      outcome.code = await events(shell, id, options);
    });
  orServer(addProjectOptions(program.command("attach").description("follow a thread or a run of whatever process, as it happens"), RECORDS))
    .argument("<thread|run>")
    .option("--after <cursor>", "only what came after this one")
    .option("--json", "one line of JSON for each event; the last of a commit has its cursor")
    .addHelpText("after", example("awaken attach t1", "awaken attach t1 --json"))
    .action(async (id: string, options: AttachCommandOptions) => {
      const { attach } = await (options.server === undefined ? import("./commands/attach.ts") : import("./remote/talk.ts"));
      outcome.code = await attach(shell, id, options);
    });
}

function addSetup(program: Command, shell: Shell, outcome: Outcome): void {
  program
    .command("init")
    .description("write a small project that runs at once")
    .argument("[dir]", "where; this folder when left out", ".")
    .option("--force", "overwrite files that are there")
    .option("--debug", "show the stack of an error")
    .addHelpText("after", example("awaken init my-agent"))
    .action(async (dir: string, options: InitOptions) => {
      const { init } = await import("./commands/init.ts");
      outcome.code = await init(shell, dir, options);
    });
  addProjectOptions(program.command("doctor").description("look at config, agents, keys, store and versions, with a fix for each finding"))
    .option("--json", "all findings as one line of JSON")
    .addHelpText("after", example("awaken doctor"))
    .action(async (options: DoctorOptions) => {
      const { doctor } = await import("./commands/doctor.ts");
      outcome.code = await doctor(shell, options);
    });
}

function addQueue(program: Command, shell: Shell, outcome: Outcome): void {
  orServer(
    addProjectOptions(program.command("queue").description("list what is queued, who has it, and messages that no run has read"), RECORDS),
  )
    .option("--limit <count>", "how many; 50 when left out")
    .option("--json", "one line of JSON for each")
    .addHelpText("after", example("awaken queue"))
    .action(async (options: ListOptions) => {
      const { queue } = await (options.server === undefined ? import("./commands/queue.ts") : import("./remote/queue.ts"));
      outcome.code = await queue(shell, options);
    });
  orServer(
    addProjectOptions(program.command("dead-letters").description("list work that nobody could bring to an end, or deal with it"), RECORDS),
  )
    .option("--replay <id>", "put it into the queue again, for a new run")
    .option("--drop <id>", "give it up for good")
    .option("--limit <count>", "how many; 50 when left out")
    .option("--json", "one line of JSON for each")
    .addHelpText("after", example("awaken dead-letters", "awaken dead-letters --replay 01a1e092"))
    .action(async (options: DeadLetterOptions) => {
      const { deadLetters } = await (options.server === undefined ? import("./commands/dead-letters.ts") : import("./remote/queue.ts"));
      outcome.code = await deadLetters(shell, options);
    });
}

const listed = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

function addServe(program: Command, shell: Shell, outcome: Outcome): void {
  addProjectOptions(program.command("serve").description("serve the agents over HTTP, with one line of JSON for each request"))
    .option("--port <number>", "where to listen; PORT says the same; 3000 when left out")
    .option("--host <address>", "the address to listen on; 127.0.0.1 when left out, any other one needs AWAKEN_API_KEYS")
    .option(
      "--share-port",
      "other processes of this command may listen on the same port, where the system can deal out connections (Linux)",
    )
    .option("--origin <origin>", "a page of this origin may ask from a browser; may be given several times", listed)
    .option("--origin-header <name>", "a header of yours that such pages may send; may be given several times", listed)
    .option("--metrics", "serve /metrics for Prometheus; needs the package prom-client")
    .option("--drain <seconds>", "how long to say `not ready` before leaving; 0 when left out")
    .option("--grace <seconds>", "how long tools may go on before their runs are left to other processes; 0 when left out")
    .addHelpText("after", example("awaken serve --port 3000", "AWAKEN_API_KEYS=acme=<sha256> awaken serve --host 0.0.0.0"))
    .action(async (options: ServeOptions) => {
      const { serve } = await import("./commands/serve.ts");
      outcome.code = await serve(shell, options);
    });
}

function addDev(program: Command, shell: Shell, outcome: Outcome): void {
  addProjectOptions(program.command("dev").description("serve the agents while you change them: each change is served without a break"))
    .option("--port <number>", "where to listen; PORT says the same; 3000 when left out")
    .option("--origin <origin>", "a page of this origin may ask from a browser; may be given several times", listed)
    .addHelpText("after", example("awaken dev"))
    .action(async (options: DevOptions) => {
      const { dev } = await import("./commands/dev.ts");
      outcome.code = await dev(shell, options);
    });
}

function addTrace(program: Command, shell: Shell, outcome: Outcome): void {
  addProjectOptions(program.command("trace").description("draw a run as a waterfall: steps, inferences, tools, waits, children"), RECORDS)
    .argument("<run|thread>", "a run, or a thread for its last run")
    .option("--json", "all of it as one line of JSON")
    .addHelpText("after", example("awaken trace t1"))
    .action(async (id: string, options: TraceOptions) => {
      const { trace } = await import("./commands/trace.ts");
      outcome.code = await trace(shell, id, options);
    });
}

function createProgram(shell: Shell, outcome: Outcome): Command {
  const program = new Command("awaken")
    .description("Run and inspect the agents of a project (awaken.config.ts).")
    .version(ownVersion(), "-v, --version")
    .helpCommand("help [command]", "show this, or the help of a command")
    .exitOverride()
    .configureOutput({ writeOut: (text) => shell.stdout.write(text), writeErr: () => {}, outputError: () => {} });
  addSetup(program, shell, outcome);
  addTalk(program, shell, outcome);
  addDecisions(program, shell, outcome);
  addRecords(program, shell, outcome);
  addQueue(program, shell, outcome);
  addTrace(program, shell, outcome);
  addServe(program, shell, outcome);
  addDev(program, shell, outcome);
  return program.addHelpText("after", `\n\`awaken <command> --help\` says more, with an example.\n${EXIT_HELP}`);
}

/** What the parser refused, as one line and a hint. */
function refusal({ message }: CommanderError): { readonly text: string; readonly fix: string } {
  const [first = "", ...rest] = message.replace(/^error: /, "").split("\n");
  const meant = rest.join(" ").replace(/^\(|\)$/g, "");
  return { text: first, fix: meant === "" ? "`awaken --help` lists the commands, `awaken <command> --help` the options" : meant };
}

/** What the command line says about config and store, also when the rest of it is wrong. */
function readProjectOptions(argv: readonly string[]): ProjectOptions {
  const optionOf = (option: string): string | undefined => {
    const at = argv.findIndex((word) => word === option || word.startsWith(`${option}=`));
    const word = argv[at];
    return word === option ? argv[at + 1] : word?.slice(option.length + 1);
  };
  const [config, store, server] = [optionOf("--config"), optionOf("--store"), optionOf("--server")];
  return {
    ...(config === undefined ? {} : { config }),
    ...(store === undefined ? {} : { store }),
    ...(server === undefined ? {} : { server }),
  };
}

async function report(shell: Shell, thrown: unknown, argv: readonly string[]): Promise<number> {
  const out = new Output(shell);
  const tell = (message: string, fix: string | undefined) => {
    out.note(`error: ${message}`, "red");
    if (fix !== undefined) out.note(`fix: ${typedHint(fix, readProjectOptions(argv))}`, "reset");
  };
  if (thrown instanceof CommanderError) {
    if (thrown.exitCode === 0) return EXIT.ok;
    const { text, fix } = refusal(thrown);
    tell(text, fix);
    return EXIT.usage;
  }
  const { explainError } = await import("./explain-error.ts");
  const { message, fix, exitCode } = explainError(thrown);
  tell(message, fix);
  if (argv.includes("--debug") && thrown instanceof Error) {
    for (let error: unknown = thrown; error instanceof Error; error = error.cause) out.note(error.stack ?? error.message);
  }
  return exitCode;
}

/** `help run` is `run --help`; what is no command is told as such. */
function withoutHelpWord({ commands }: Command, argv: readonly string[]): readonly string[] {
  const [first, name] = argv;
  if (first !== "help") return argv;
  if (name === undefined) return ["--help"];
  return commands.some((command) => command.name() === name) ? [name, "--help"] : [name];
}

/** Runs one command line. Never throws. */
export async function runProgram(argv: readonly string[], shell: Shell): Promise<number> {
  const outcome: Outcome = { code: EXIT.ok };
  const program = createProgram(shell, outcome);
  if (argv.length === 0) {
    program.outputHelp();
    return EXIT.ok;
  }
  // What tools and configs print is no part of the answer: it would break lines of JSON, and a terminal would obey it.
  const out = new Output(shell);
  using redirected = new DisposableStack();
  program.hook("preAction", async () => {
    const { redirectConsole } = await import("./chat/console-redirect.ts");
    redirected.use(redirectConsole((text) => out.note(text, "reset")));
  });
  try {
    await program.parseAsync(withoutHelpWord(program, argv), { from: "user" });
    return outcome.code;
  } catch (thrown) {
    return await report(shell, thrown, argv);
  }
}

const flushed = (stream: NodeJS.WriteStream): Promise<void> => new Promise((resolve) => stream.write("", () => resolve()));

/** Commands that execute runs: whether somebody reads along must not decide what becomes of a tool that is at work. */
const WORKING = new Set(["run", "decide", "resume", "chat", "cancel", "serve"]);

/**
 * A reader that has seen enough (`awaken threads | head`) is no error. Commands that only list leave then; those that work go on
 * without being heard. `onLost` is told of anything else, like a disk that is full.
 */
function outliveReaders(stream: NodeJS.WriteStream, isWorking: boolean, onLost: () => void): void {
  stream.on("error", (error) => {
    const isUnread = "code" in error && error.code === "EPIPE";
    if (!isWorking) process.exit(isUnread ? EXIT.ok : EXIT.failed);
    if (!isUnread) onLost();
  });
}

const WITHOUT_PROJECT = /^(?:init|help|-.*)?$/;

/** What `.env` of the project says, for commands that have one. Gives what is wrong with it. */
async function loadEnvironment(argv: readonly string[], cwd: string): Promise<unknown> {
  if (WITHOUT_PROJECT.test(argv[0] ?? "")) return undefined;
  const { loadDotEnv } = await import("./dot-env.ts");
  try {
    loadDotEnv({ ...readProjectOptions(argv), cwd });
    return undefined;
  } catch (thrown) {
    return thrown;
  }
}

/** The command itself: it leaves when it is done, whatever a config may have left open. */
export async function main(argv: readonly string[]): Promise<void> {
  const { stdin, stdout, stderr, env } = process;
  const isWorking = WORKING.has(argv[0] ?? "");
  let isLost = false;
  for (const stream of [stdout, stderr]) {
    outliveReaders(stream, isWorking, () => {
      isLost = true;
    });
  }
  const cwd = process.cwd();
  const problem = await loadEnvironment(argv, cwd);
  // After the file, whose secrets are secrets too.
  const shell = { stdin, stdout, stderr, env, cwd, redact: createRedactor(env, argv) };
  const leave = async (code: number) => {
    await Promise.all([flushed(stdout), flushed(stderr)]);
    process.exit(code === EXIT.ok && isLost ? EXIT.failed : code);
  };
  // What a config or a tool throws where nobody can catch it.
  process.once("uncaughtException", (thrown) => {
    void report(shell, thrown, argv).then(() => leave(EXIT.failed));
  });
  // Nothing can wake the process any more, and the command is not done.
  process.once("beforeExit", async () => {
    const { usageError } = await import("./cli-error.ts");
    const message = "the config never finished loading: it awaits something that never comes";
    const fix = "look for such an `await` in awaken.config.ts and in what it imports";
    await leave(await report(shell, usageError(message, fix), argv));
  });
  await leave(problem === undefined ? await runProgram(argv, shell) : await report(shell, problem, argv));
}
