import { AwakenError, errorMessage, type Log } from "@awaken/contract";

export interface Place {
  readonly port: number;
  readonly host: string;
  /** Others may listen there too. */
  readonly reusePort: boolean;
}

/** What of Node's server is needed for it to listen. */
export interface Listener {
  listen(place: Place, onListening: () => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  off(event: "error", listener: (error: Error) => void): unknown;
}

const WHY: Readonly<Record<string, (place: Place) => string>> = {
  EADDRINUSE: ({ port, host }) =>
    `another process listens on port ${port} of ${host}: give another one, or let all of them share it (sharePort, --share-port)`,
  EACCES: ({ port }) => `this user may not listen on port ${port}: those below 1024 need rights; give another one`,
  EADDRNOTAVAIL: ({ host }) => `${host} is no address of this machine: 127.0.0.1 is itself, 0.0.0.0 all that it has`,
  ENOTFOUND: ({ host }) => `nobody knows an address for the name ${host}`,
};

function refusalOf(thrown: Error, place: Place): Error {
  const why = "code" in thrown ? WHY[String(thrown.code)] : undefined;
  return why === undefined ? thrown : new AwakenError("config_validation_failed", `serve: ${why(place)}`, { cause: thrown });
}

/** Resolves when it listens. What fails from then on, as when the process has too many files open, costs one connection and no more. */
export async function listenOn(node: Listener, place: Place, log: Log): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const refuse = (thrown: Error) => reject(refusalOf(thrown, place));
    node.on("error", refuse);
    node.listen(place, () => {
      node.off("error", refuse);
      resolve();
    });
  });
  node.on("error", (thrown) => log.error(`a connection could not be taken: ${errorMessage(thrown)}`));
}
