import { spawn } from "node:child_process";
import { once } from "node:events";
import { messageText, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import { append, event, T1, user } from "../conformance/records.ts";
import { take } from "../conformance/world.ts";
import { fileOf, openTestStore } from "./test-store.ts";

/** Runs a module in another process, with the path of the file as its argument; gives its exit code or signal. */
async function inChild(store: QueueStore, script: string): Promise<unknown> {
  const args = [
    "--conditions=awaken-source",
    "--input-type=module",
    "-e",
    `import { sqliteStore } from "@awaken/stores/sqlite";\n${script}`,
  ];
  const child = spawn(process.execPath, [...args, fileOf(store)], { cwd: import.meta.dirname, stdio: ["ignore", "inherit", "inherit"] });
  const [code, signal] = await once(child, "exit");
  return signal ?? code;
}

const OPEN = 'const store = sqliteStore(process.argv[1], { synchronous: "normal" });';

describe("other processes", () => {
  test("followers of events hear of what another process has appended", async () => {
    await using store = openTestStore();
    await store.events.append([event("here")]);
    const events = await store.events.subscribe(
      { type: "thread", threadId: T1 },
      { type: "now" },
      { signal: AbortSignal.timeout(120_000) },
    );
    const reading = take(events, 1);
    const draft = JSON.stringify(event("there").draft);
    expect(await inChild(store, `${OPEN} await store.events.append([{ draft: ${draft} }]); await store.close();`)).toBe(0);
    expect((await reading).map(({ kind }) => kind)).toEqual(["there"]);
  });

  test("a head shows what another process has appended, and the thread that it has put in the place of the one that was known", async () => {
    await using store = openTestStore();
    const textsOf = async () => (await store.threads.loadHead(T1))?.messages.map(({ message }) => messageText(message));
    const commitThere = (count: number, text: string) => `await store.commit(${JSON.stringify(append(count, [user(`m${count}`, text)]))});`;
    await store.commit(append(0, [user("m0", "here")]));
    expect(await textsOf()).toEqual(["here"]);
    expect(await inChild(store, `${OPEN} ${commitThere(1, "there")} await store.close();`)).toBe(0);
    expect(await textsOf()).toEqual(["here", "there"]);
    const anew = `${OPEN} await store.threads.delete(${JSON.stringify(T1)}, "reject");
      ${commitThere(0, "other")} ${commitThere(1, "log")} ${commitThere(2, "now")} await store.close();`;
    expect(await inChild(store, anew)).toBe(0);
    expect(await textsOf()).toEqual(["other", "log", "now"]);
  });

  test("a process that is killed in the middle of a transaction leaves nothing of it, and what it was told is there", async () => {
    await using store = openTestStore();
    const commit = JSON.stringify(append(0, [user("m1")]));
    const script = `${OPEN}
      await store.commit(${commit});
      await store.transaction(async (ports) => {
        await ports.threads.create({ id: "lost" });
        process.kill(process.pid, "SIGKILL");
        await new Promise(() => setInterval(() => {}, 1000));
      });`;
    expect(await inChild(store, script)).toBe("SIGKILL");
    expect(await store.messages.count(T1)).toBe(1);
    expect(await store.threads.load(threadId("lost"))).toBeUndefined();
    await store.commit(append(1, [user("m2")]));
  });
});
