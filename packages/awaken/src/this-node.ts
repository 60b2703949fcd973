import type { NodeIdentity } from "@awaken/runtime";

const PREFIX = "awaken";

/** Asked for, not imported: the facade also runs where there is no Node. */
const host = globalThis.process;
const fs = host?.getBuiltinModule?.("node:fs");
const os = host?.getBuiltinModule?.("node:os");
const hooks = host?.getBuiltinModule?.("node:async_hooks");

/** What Linux says, or nothing on other systems. */
function ask(read: () => string | undefined): string {
  try {
    return read()?.trim() ?? "-";
  } catch {
    return "-";
  }
}

/** One machine since it was started, as far as process ids are seen from here: two containers may number their processes alike. */
function readMachine(): string {
  const boot = ask(() => fs?.readFileSync("/proc/sys/kernel/random/boot_id", "utf8"));
  const namespace = ask(() => fs?.readlinkSync("/proc/self/ns/pid"));
  return [os?.hostname() ?? "-", boot, namespace].map(encodeURIComponent).join("/");
}

/** When a process began, in ticks since the machine did: numbers of processes come again. */
function startOf(pid: number): string {
  return ask(() => {
    const stat = fs?.readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program may hold anything but its last parenthesis.
    return stat?.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "-";
  });
}

/** Whether there is such a process; one that belongs to somebody else is one too. */
function isRunning(pid: number): boolean {
  try {
    host.kill(pid, 0);
    return true;
  } catch (thrown) {
    return !(thrown instanceof Error && "code" in thrown && thrown.code === "ESRCH");
  }
}

/**
 * The name of this process and runtime: machine, process and a number of its own. Of a name from the same machine it can be told whether
 * its process is gone; of any other one only its lease tells.
 */
export function thisNode(): NodeIdentity {
  if (host === undefined) return { name: `${PREFIX}/${crypto.randomUUID()}`, isGone: () => false };
  const machine = readMachine();
  const { pid } = host;
  const name = `${PREFIX}/${machine}/${pid}/${startOf(pid)}/${crypto.randomUUID()}`;
  return {
    name,
    ...(hooks === undefined ? undefined : { trail: new hooks.AsyncLocalStorage<object>() }),
    isGone(other) {
      const [prefix, hostname, boot, namespace, process, start] = other.split("/");
      if (prefix !== PREFIX || `${hostname}/${boot}/${namespace}` !== machine) return false;
      const id = Number(process);
      if (!Number.isSafeInteger(id) || id <= 0) return false;
      return !isRunning(id) || startOf(id) !== start;
    },
  };
}
