import { type ApiKey, apiKeys, serve as listen, type RequestLine } from "@awaken/server";
import { usageError } from "../cli-error.ts";
import { EXIT } from "../exit-codes.ts";
import { catchInterrupts } from "../interrupts.ts";
import { loadConfig, openProjectStore, openRuntime } from "../load-project.ts";
import { Output } from "../output.ts";
import type { ProjectOptions, Shell } from "../shell.ts";

export interface ServeOptions extends ProjectOptions {
  readonly port?: string;
  readonly host?: string;
  readonly sharePort?: boolean;
  readonly origin?: readonly string[];
  readonly originHeader?: readonly string[];
  readonly metrics?: boolean;
  readonly drain?: string;
  readonly grace?: string;
}

function wholeNumber(name: string, text: string, max: number): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0 && value <= max) return value;
  throw usageError(`${name} must be a whole number from 0 to ${max}`, `${name} 3000`);
}

/** `AWAKEN_API_KEYS`: hashes, with commas between them; `tenant=hash` for one that is not the default tenant's. */
function readKeys(text: string): readonly ApiKey[] {
  const entries = text
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
  // Nobody would be let in, and nobody would know why.
  if (entries.length === 0) throw usageError("AWAKEN_API_KEYS is set and has no key", "AWAKEN_API_KEYS=acme=<sha256 of the key>, or unset");
  return entries.map((entry) => {
    const cut = entry.lastIndexOf("=");
    return cut < 0 ? { hash: entry } : { scopeId: entry.slice(0, cut), hash: entry.slice(cut + 1) };
  });
}

/** Serves the project until it is told to stop: one line of JSON for each request. Runs that are under way are left to other processes. */
export async function serve(shell: Shell, options: ServeOptions): Promise<number> {
  const { env } = shell;
  const port = wholeNumber("--port", options.port ?? env["PORT"] ?? "3000", 65_535);
  const drainMs = wholeNumber("--drain", options.drain ?? "0", 600) * 1000;
  const graceMs = wholeNumber("--grace", options.grace ?? "0", 600) * 1000;
  const [keys, token] = [env["AWAKEN_API_KEYS"], env["AWAKEN_ADMIN_API_BEARER_TOKEN"]];
  const access = keys === undefined ? undefined : apiKeys(readKeys(keys));
  const out = new Output(shell);
  const use = { ...options, cwd: shell.cwd, env };
  const loaded = await loadConfig(use);
  await using store = await openProjectStore(use, loaded);
  const { workers = true, ...config } = loaded.config;
  await using runtime = await openRuntime({ ...loaded, config: { ...config, workers } }, store.store);
  await runtime.initialize();
  const onRequest = (line: RequestLine) => shell.stdout.write(`${JSON.stringify(line)}\n`);
  using interrupts = catchInterrupts(() => out.note("· not ready any more; runs are left to other processes"));
  await using server = await listen({
    runtime,
    port,
    host: options.host ?? "127.0.0.1",
    sharePort: options.sharePort ?? false,
    drainMs,
    graceMs,
    onRequest,
    origins: options.origin ?? [],
    originHeaders: options.originHeader ?? [],
    ...(options.metrics === true ? { metrics: true as const } : undefined),
    ...(access === undefined ? undefined : { access }),
    ...(token === undefined ? undefined : { admin: { token } }),
  });
  out.note(`· ${server.url} serves ${store.label}`);
  // Whoever started it for a port of its own, as \`awaken dev\` does.
  process.send?.({ port: server.port, store: store.label });
  process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
  if (!interrupts.signal.aborted) await new Promise((resolve) => interrupts.signal.addEventListener("abort", resolve, { once: true }));
  await server.close();
  process.removeAllListeners("disconnect");
  if (process.connected) process.disconnect();
  return EXIT.ok;
}
