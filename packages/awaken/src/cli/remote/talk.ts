import { CliError } from "../cli-error.ts";
import { type AttachCommandOptions, lookOn } from "../commands/attach.ts";
import type { CancelOptions } from "../commands/cancel.ts";
import { type DecideOptions, readDecision } from "../commands/decide.ts";
import { type RunOptions, readInput } from "../commands/run.ts";
import { EXIT } from "../exit-codes.ts";
import { showRun } from "../follow-run.ts";
import { Output } from "../output.ts";
import type { Shell } from "../shell.ts";
import { openClient } from "./open-client.ts";

// The commands that make runs, on a server. It checks what it is asked; connections that break are made again.

export async function run(shell: Shell, given: string | undefined, options: RunOptions): Promise<number> {
  const { agent, thread } = options;
  const input = await readInput(given, shell);
  const client = openClient(options, shell);
  return showRun(shell, {
    options,
    hasOutput: false,
    begin(signal) {
      const begun = client.stream({ input, ...(agent === undefined ? {} : { agent }), ...(thread === undefined ? {} : { thread }) });
      // The run is the server's: leaving would not end it.
      signal.addEventListener("abort", () => void begun.id.then((id) => client.cancel(id)), { once: true });
      return begun;
    },
  });
}

export function decide(shell: Shell, ticket: string, options: DecideOptions): Promise<number> {
  const decision = readDecision(options);
  const client = openClient(options, shell);
  return showRun(shell, {
    options,
    hasOutput: false,
    async begin(signal) {
      const begun = await client.decide(ticket, { ...decision, ...(options.run === undefined ? {} : { run: options.run }) });
      signal.addEventListener("abort", () => void begun.id.then((id) => client.cancel(id)), { once: true });
      return begun;
    },
  });
}

export async function cancel(shell: Shell, id: string, options: CancelOptions): Promise<number> {
  const isTold = await openClient(options, shell).cancel(id);
  if (!isTold) throw new CliError("run_not_found", `the server has no run to cancel for '${id}'`, "`awaken runs` lists them");
  const out = new Output(shell);
  if (options.json === true) out.json({ type: "cancel-requested", id });
  else out.line(`${id} was told to stop`);
  return EXIT.ok;
}

export function attach(shell: Shell, id: string, options: AttachCommandOptions): Promise<number> {
  const client = openClient(options, shell);
  return lookOn(shell, options, (how) => client.attach(id, how));
}
