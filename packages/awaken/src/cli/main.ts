#!/usr/bin/env node
import { nodeFix, nodeProblem } from "../node-version.ts";

const problem = nodeProblem(process.versions.node);
if (problem === undefined) {
  // What was compiled once is read from disk the next time: that halves the start.
  const { enableCompileCache } = await import("node:module");
  enableCompileCache();
  const { main } = await import("./program.ts");
  await main(process.argv.slice(2));
} else {
  process.stderr.write(`error: ${problem}\nfix: ${nodeFix(process.argv.slice(2))}\n`);
  process.exitCode = 2;
}
