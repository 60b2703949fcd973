import { runProgram } from "./program.ts";

// Several command lines in one process: starting one costs more than most of what is tested.

const { stdin, stdout, stderr, env } = process;
const lines: readonly (readonly string[])[] = JSON.parse(process.argv[2] ?? "[]");
for (const argv of lines) {
  const code = await runProgram(argv, { stdin, stdout, stderr, env, cwd: process.cwd(), redact: (text) => text });
  stdout.write(`\0${code}\0`);
  stderr.write("\0");
}
process.exit(0);
