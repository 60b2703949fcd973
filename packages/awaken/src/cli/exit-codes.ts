/** What the command tells its caller. 2 also stands for everything that was refused before a run began. */
export const EXIT = { ok: 0, failed: 1, usage: 2, waiting: 3, interrupted: 130 } as const;

export const EXIT_HELP = `
Exit codes:
  0    it worked
  1    the run failed, or doctor found a failure
  2    wrong usage, config or store: nothing was run
  3    the run waits for a decision
  130  interrupted`;
