import type { Backend } from "@awaken/contract";
import type { RemoteEndpoint } from "@awaken/contract/spec";

type Extension = typeof import("@awaken/extensions/a2a");

/** Not a literal: a bundler for browsers, where agents are not asked like this, would take along what it needs of Node. */
const EXTENSION = ["@awaken/extensions", "a2a"].join("/");

/** Apart from what names the type, because the compiler adds a function of its own to a file that imports what is no literal. */
export async function buildA2a(endpoint: RemoteEndpoint): Promise<Backend> {
  const extension: Extension = await import(EXTENSION);
  return extension.a2a().build(endpoint);
}
