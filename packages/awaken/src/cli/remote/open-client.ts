import { type Client, createClient } from "@awaken/client";
import { usageError } from "../cli-error.ts";
import type { ProjectOptions, Shell } from "../shell.ts";

/** Speaks to the server that the command line names. */
export function openClient({ server, key, store, config }: ProjectOptions, { env }: Shell): Client {
  if (server === undefined || !/^https?:\/\//.test(server) || !URL.canParse(server)) {
    throw usageError("--server must be the address of a server", "--server http://localhost:3000");
  }
  if (store !== undefined || config !== undefined)
    throw usageError("--server is asked instead of a project: leave --store and --config out");
  const token = key ?? env["AWAKEN_SERVER_KEY"];
  return createClient({ url: server, ...(token === undefined ? {} : { token }) });
}
