import { AwakenError } from "@awaken/contract";

/** The official client. It is loaded when the first server is connected. */
export type Sdk = typeof import("@modelcontextprotocol/client");

const PACKAGE = "@modelcontextprotocol/client";

const isMissing = (thrown: unknown): boolean =>
  thrown instanceof Error && "code" in thrown && thrown.code === "ERR_MODULE_NOT_FOUND" && thrown.message.includes(PACKAGE);

/** Throws one line that names the install when it is not there. */
export async function loadSdk(load: () => Promise<Sdk> = () => import("@modelcontextprotocol/client")): Promise<Sdk> {
  try {
    return await load();
  } catch (thrown) {
    if (!isMissing(thrown)) throw thrown;
    throw new AwakenError("unsupported_platform", `MCP servers need the package ${PACKAGE}: npm install ${PACKAGE}@2`, { cause: thrown });
  }
}
