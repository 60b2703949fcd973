import { DBOS } from "@dbos-inc/dbos-sdk";
import { Logger, makeWorkerUtils, run as runWorker } from "graphile-worker";

// Each gives how many a second it brought to their end, in this process, on a PostgreSQL that others use too.

const silent = () => new Logger(() => () => {});
const perSecond = (count, start) => count / ((performance.now() - start) / 1_000);

/** Jobs that do nothing, eight at a time. */
export async function graphileWorker(connectionString, count) {
  const utils = await makeWorkerUtils({ connectionString, logger: silent() });
  await utils.migrate();
  await utils.addJobs(Array.from({ length: count }, (_, nth) => ({ identifier: "echo", payload: { nth } })));
  const { promise: done, resolve } = Promise.withResolvers();
  let left = count;
  const echo = async () => {
    left -= 1;
    if (left === 0) resolve();
  };
  const start = performance.now();
  const options = { concurrency: 8, noHandleSignals: true, pollInterval: 1_000, logger: silent() };
  const runner = await runWorker({ connectionString, ...options, taskList: { echo } });
  await done;
  const rate = perSecond(count, start);
  await runner.stop();
  await utils.release();
  return rate;
}

/** Workflows of a turn, a tool and a turn: started directly, and through the queue. */
export async function dbos(systemDatabaseUrl, count) {
  const model = DBOS.registerStep(async () => ({ text: "hello", calls: 1 }), { name: "model" });
  const tool = DBOS.registerStep(async () => ({ ok: true }), { name: "tool" });
  const steps = async () => {
    await model();
    await tool();
    await model();
    return "done";
  };
  const flow = DBOS.registerWorkflow(steps, { name: "flow" });
  DBOS.setConfig({ name: "bench", systemDatabaseUrl, logLevel: "error", runAdminServer: false });
  await DBOS.launch();
  await DBOS.registerQueue("runs", { concurrency: 64, workerConcurrency: 64 });
  const play = async (options) => {
    const start = performance.now();
    const handles = [];
    for (let at = 0; at < count; at += 16) {
      const batch = Array.from({ length: Math.min(16, count - at) }, () => DBOS.startWorkflow(flow, options)());
      handles.push(...(await Promise.all(batch)));
    }
    await Promise.all(handles.map((handle) => handle.getResult()));
    return perSecond(count, start);
  };
  const direct = await play({});
  const queued = await play({ queueName: "runs" });
  await DBOS.shutdown();
  return { direct, queued };
}
