import { AwakenError } from "@awaken/contract";

export interface Peer {
  /** As npm knows it. */
  readonly name: string;
  /** What cannot do without it, in the words of whoever wrote the program. */
  readonly neededBy: string;
  /** What to install: the name, with a version where any would not do. */
  readonly install: string;
}

/** Not there itself; what one that is there cannot find is another matter. */
function isMissing(thrown: unknown, name: string): boolean {
  if (!(thrown instanceof Error) || !("code" in thrown)) return false;
  const isNotFound = thrown.code === "ERR_MODULE_NOT_FOUND" || thrown.code === "MODULE_NOT_FOUND";
  return isNotFound && (thrown.message.includes(`package '${name}'`) || thrown.message.includes(`module '${name}'`));
}

/** Loads an optional peer when it is first needed. One that is not installed is one line that names the install. */
export async function loadPeer<T>({ name, neededBy, install }: Peer, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (thrown) {
    if (!isMissing(thrown, name)) throw thrown;
    throw new AwakenError("invalid_plugin", `${neededBy} needs the package ${name}: npm install ${install}`, {
      cause: thrown,
      details: { package: name },
    });
  }
}
