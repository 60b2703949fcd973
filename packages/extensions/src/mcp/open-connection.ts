import type { Clock } from "@awaken/runtime";
import type { Answers } from "./answers.ts";
import { childEnv } from "./child-env.ts";
import { Connection } from "./connection.ts";
import { HttpTransport } from "./http-transport.ts";
import type { Sdk } from "./load-sdk.ts";
import type { ServerSetup } from "./setup.ts";
import { StdioTransport } from "./stdio-transport.ts";

/** The longest message, either way it comes. */
const MAX_BYTES = 10 * 1024 * 1024;

export interface OpenInit {
  readonly sdk: Sdk;
  readonly setup: ServerSetup;
  readonly answers: Answers;
  readonly clock: Clock;
  readonly onClosed: (why: string) => void;
  readonly onToolsChanged: () => void;
  readonly onResourceUpdated: (uri: string) => void;
  readonly onLog: (line: string) => void;
  /** What has to be ended by whoever does not wait for the connection. */
  readonly onStarted: (begun: Begun) => void;
  /** False: nobody waits for the connection any more. */
  readonly isWanted: () => boolean;
}

/** A connection that is being made. */
export interface Begun {
  close(): Promise<void>;
  /** At the end of the process, which waits for nothing. */
  kill(): void;
}

const revealed = (secrets: { readonly [name: string]: { reveal(): string } }): Record<string, string> =>
  Object.fromEntries(Object.entries(secrets).map(([name, secret]) => [name, secret.reveal()]));

function connectionInit({ sdk, setup, answers, onClosed, onToolsChanged, onResourceUpdated }: OpenInit) {
  const { era, spec } = setup;
  return { sdk, answers, era, timeoutMs: spec.timeoutSecs * 1_000, onClosed, onToolsChanged, onResourceUpdated };
}

async function openStdio(init: OpenInit, era = init.setup.era): Promise<Connection> {
  const { sdk, setup, onLog, onStarted } = init;
  const { spec } = setup;
  if (spec.type !== "stdio") throw new TypeError("expected a program");
  const { command, args, env, cwd, config } = spec;
  const transport = new StdioTransport(sdk, { command, args, env: childEnv(revealed(env)), cwd, config, maxBytes: MAX_BYTES, onLog });
  onStarted(transport);
  try {
    return await Connection.open({ ...connectionInit(init), era, transport });
  } catch (thrown) {
    // Some programs of the older protocol leave when they are asked for the newer one.
    if (era !== "auto" || transport.pid === null || !init.isWanted()) throw thrown;
    return openStdio(init, "2025");
  }
}

async function openHttp(init: OpenInit): Promise<Connection> {
  const { sdk, setup, clock, onStarted } = init;
  const { spec } = setup;
  if (spec.type !== "http") throw new TypeError("expected an address");
  let connection: Connection | undefined;
  const onLost = (why: string) => connection?.lost(why);
  const transport = new HttpTransport(sdk, { url: spec.url, headers: revealed(spec.headers), maxBytes: MAX_BYTES, clock, onLost });
  onStarted({ close: () => transport.close(), kill() {} });
  connection = await Connection.open({ ...connectionInit(init), transport });
  return connection;
}

/** A session with the server, or a rejection that says why there is none. */
export const openConnection = (init: OpenInit): Promise<Connection> =>
  init.setup.spec.type === "stdio" ? openStdio(init) : openHttp(init);
