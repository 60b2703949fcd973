import { randomUUID } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { type RunRecord, threadId } from "@awaken/contract";
import type { ScopedStore, Store, StoreStats } from "@awaken/contract/store";
import type { StoreChoice } from "../choose-store.ts";
import { sameProject } from "../command-name.ts";
import { explainError } from "../explain-error.ts";
import type { ProjectStore } from "../load-project.ts";
import type { ProjectOptions } from "../shell.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

const SHOWN = 5;
class Undone extends Error {}

/** Writes a thread and takes it back in the same transaction: nothing stays. */
async function checkWrite(store: ScopedStore): Promise<Finding> {
  try {
    await store.transaction(async ({ threads }) => {
      await threads.create({ id: threadId(`doctor-${randomUUID()}`) });
      throw new Undone();
    });
  } catch (thrown) {
    if (!(thrown instanceof Undone)) {
      const { message, fix } = explainError(thrown);
      return fail("store", `it cannot be written: ${message}`, fix ?? "check the rights and the space of its disk");
    }
  }
  return ok("store", "a test record was written and taken back");
}

const isWhole = (store: ScopedStore): store is Store => "stats" in store && typeof store.stats === "function";

async function countRows(store: ScopedStore): Promise<string> {
  if (!isWhole(store)) {
    const { waiting, running, done } = await store.runs.countByStatus();
    return `${await store.threads.count({})} threads, ${waiting + running + done} runs`;
  }
  const { threads, messages, runs, events, bytes }: StoreStats = await store.stats();
  const all = Object.values(runs).reduce((sum, count) => sum + count, 0);
  return `${threads} threads, ${messages} messages, ${all} runs, ${events} events, ${Math.ceil(bytes / 1024)} KiB`;
}

/** Opening brings the tables up to date, so what is there now is what this version knows. */
function schemaVersion(file: string): Finding {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const version = database.prepare("PRAGMA user_version").get()?.["user_version"];
    return ok("store", `its tables have version ${String(version)}, which is the one that this awaken writes`);
  } finally {
    database.close();
  }
}

const names = (runs: readonly RunRecord[], total: number): string =>
  runs.map(({ runId }) => runId).join(", ") + (total > runs.length ? ` and ${total - runs.length} more` : "");

async function checkOpenRuns({ runs }: ScopedStore, options: ProjectOptions): Promise<readonly Finding[]> {
  const more = sameProject(options);
  const { waiting, running, created } = await runs.countByStatus();
  const findings: Finding[] = [];
  if (running + created > 0) {
    const { items } = await runs.list({ statuses: ["created", "running"], limit: SHOWN });
    const text = `running somewhere, or cut off: ${names(items, running + created)}`;
    findings.push(
      warn("runs", text, `when nobody executes it: \`awaken resume <run>${more}\`, or \`awaken cancel <run> --cut-off${more}\``),
    );
  }
  if (waiting > 0) {
    const { items } = await runs.list({ statuses: ["waiting"], limit: SHOWN });
    findings.push(warn("runs", `waiting: ${names(items, waiting)}`, `\`awaken show <run>${more}\` shows what they wait for`));
  }
  return findings.length > 0 ? findings : [ok("runs", "no run waits, and none was cut off")];
}

/** What can be said of an open store. */
export async function checkStore(
  opened: ProjectStore,
  choice: StoreChoice | undefined,
  options: ProjectOptions,
): Promise<readonly Finding[]> {
  const { store, label } = opened;
  return [
    ok("store", `${label} opens`),
    ...(choice?.type === "sqlite" ? [schemaVersion(choice.file)] : []),
    await checkWrite(store),
    ok("store", await countRows(store)),
    ...(await checkOpenRuns(store, options)),
  ];
}
