import { startServer } from "./test-server.ts";

/** A global setup of vitest: all test files of one run share one server. */
export default async function setup(): Promise<() => Promise<void>> {
  if (process.env["AWAKEN_TEST_POSTGRES_URL"]) return async () => {};
  const server = await startServer();
  process.env["AWAKEN_TEST_POSTGRES_URL"] = server.url;
  return async () => {
    await server.stop();
    // The package that starts the server would end this process as a success, whatever the tests said.
    process.prependOnceListener("beforeExit", () => process.exit());
  };
}
