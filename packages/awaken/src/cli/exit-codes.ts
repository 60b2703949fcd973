/** What the command tells its caller. 2 also stands for everything that was refused before a run began. */
export const EXIT = { ok: 0, failed: 1, usage: 2, waiting: 3, hungUp: 129, interrupted: 130, terminated: 143 } as const;

export const EXIT_HELP = `
Exit codes:
  0    it worked
  1    the run failed, was stopped, blocked or cancelled, or doctor found a failure
  2    wrong usage, config or store: nothing was run
  3    the run waits for a decision
  129  the terminal went away (SIGHUP): the run was cancelled
  130  interrupted (Ctrl-C): the run was cancelled
  143  asked to end (SIGTERM): the run was cancelled`;
