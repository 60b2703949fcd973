import { Session } from "node:inspector/promises";
import { setFlagsFromString } from "node:v8";

// Code that is compiled with what it learned does not count its calls.
setFlagsFromString("--no-opt");
setFlagsFromString("--no-maglev");

/**
 * How often anything of ours was executed: every function and every block between braces, loop bodies too, as the engine counts them. The
 * same work gives the same number on a machine at rest and on a busy one.
 */
export async function countWork(work: () => Promise<void>): Promise<number> {
  const session = new Session();
  session.connect();
  try {
    await session.post("Profiler.enable");
    await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
    await session.post("Profiler.takePreciseCoverage");
    await work();
    const { result } = await session.post("Profiler.takePreciseCoverage");
    await session.post("Profiler.stopPreciseCoverage");
    const ours = result.filter(({ url }) => url.includes("/packages/"));
    return ours.flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges)).reduce((sum, { count }) => sum + count, 0);
  } finally {
    session.disconnect();
  }
}
