import { randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import type { NodeIdentity } from "@awaken/runtime";

const PREFIX = "awaken";

/** What Linux says, or nothing on other systems. */
function ask(read: () => string): string {
  try {
    return read().trim();
  } catch {
    return "-";
  }
}

/** One machine since it was started, as far as process ids are seen from here: two containers may number their processes alike. */
function readMachine(): string {
  const boot = ask(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8"));
  const namespace = ask(() => readlinkSync("/proc/self/ns/pid"));
  return [hostname(), boot, namespace].map(encodeURIComponent).join("/");
}

/** When a process began, in ticks since the machine did: numbers of processes come again. */
function startOf(pid: number): string {
  return ask(() => {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program may hold anything but its last parenthesis.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "-";
  });
}

/** Whether there is such a process; one that belongs to somebody else is one too. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
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
  const machine = readMachine();
  const name = `${PREFIX}/${machine}/${process.pid}/${startOf(process.pid)}/${randomUUID()}`;
  return {
    name,
    isGone(other) {
      const [prefix, host, boot, namespace, pid, start] = other.split("/");
      if (prefix !== PREFIX || `${host}/${boot}/${namespace}` !== machine) return false;
      const id = Number(pid);
      if (!Number.isSafeInteger(id) || id <= 0) return false;
      return !isRunning(id) || startOf(id) !== start;
    },
  };
}
