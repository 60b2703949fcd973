import { isJsonObject, nearestName } from "@awaken/contract";
import type { ProjectConfig } from "../config.ts";
import { CliError } from "./cli-error.ts";

const OPTIONS: Readonly<Record<keyof ProjectConfig, true>> = {
  providers: true,
  models: true,
  pools: true,
  agents: true,
  tools: true,
  plugins: true,
  backends: true,
  remoteAgents: true,
  resolver: true,
  state: true,
  store: true,
  streamCheckpoints: true,
  clock: true,
  ids: true,
  log: true,
  cancelGraceMs: true,
  maxDelegationDepth: true,
  messageSink: true,
  messageDelivery: true,
  maxRunningTasks: true,
  limits: true,
  checked: true,
  workers: true,
  concurrency: true,
  leaseMs: true,
  maxAttempts: true,
  yieldBefore: true,
  retention: true,
  node: true,
  outputs: true,
};

type Table = Readonly<Record<string, unknown>>;

const refuse = (file: string, why: string, fix?: string): never => {
  throw new CliError("config_validation_failed", `${file}: ${why}`, fix);
};

function nameOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

const isTable = (value: unknown): value is Table => isJsonObject(value);
const isStore = (value: unknown): boolean => isTable(value) && "threads" in value && "runs" in value && "commit" in value;
const isSchema = (value: unknown): boolean => (isTable(value) || typeof value === "function") && "~standard" in value;

function checkNames(config: Table, file: string): void {
  const known = Object.keys(OPTIONS);
  for (const name of Object.keys(config)) {
    if (known.includes(name)) continue;
    const meant = nearestName(name, known);
    const hint = meant === undefined ? `known are ${known.join(", ")}` : `did you mean '${meant}'?`;
    refuse(file, `unknown option '${name}'`, hint);
  }
}

function checkTables(config: Table, file: string): void {
  for (const name of ["providers", "models", "agents", "outputs"]) {
    const value = config[name];
    if (value !== undefined && !isTable(value)) refuse(file, `'${name}' must be an object by id, got ${nameOf(value)}`);
  }
  const { plugins, tools, store } = config;
  if (plugins !== undefined && !Array.isArray(plugins)) refuse(file, `'plugins' must be a list, got ${nameOf(plugins)}`);
  if (tools !== undefined && !Array.isArray(tools) && !isTable(tools)) refuse(file, `'tools' must be a list, got ${nameOf(tools)}`);
  if (store !== undefined && !isStore(store)) {
    refuse(file, `'store' must be a store, got ${nameOf(store)}`, 'for example `sqliteStore("awaken.db")` of "awaken/sqlite"');
  }
}

function readAgents({ agents }: Table, file: string): Table {
  if (isTable(agents) && Object.keys(agents).length > 0) return agents;
  return refuse(file, "there are no agents", 'for example `agents: { assistant: { model: "main" } }`');
}

function checkAgents(config: Table, file: string): void {
  const agents = readAgents(config, file);
  const { outputs } = config;
  for (const [id, agent] of Object.entries(agents)) {
    if (!isTable(agent)) refuse(file, `agent '${id}' must be an object, got ${nameOf(agent)}`);
  }
  if (!isTable(outputs)) return;
  for (const [id, schema] of Object.entries(outputs)) {
    if (!(id in agents))
      refuse(file, `'outputs' names the agent '${id}', and there is none`, `agents are ${Object.keys(agents).join(", ")}`);
    if (!isSchema(schema)) refuse(file, `the output of agent '${id}' must be a schema, got ${nameOf(schema)}`);
  }
}

function assertConfig(value: unknown, file: string): asserts value is ProjectConfig {
  if (!isTable(value)) return refuse(file, `the default export must be an object or a function that gives one, got ${nameOf(value)}`);
  if (typeof value["stream"] === "function" && typeof value["run"] === "function") {
    refuse(file, "it exports a runtime", "export the options instead: `export default defineConfig({ agents, … })`");
  }
  checkNames(value, file);
  checkTables(value, file);
  checkAgents(value, file);
}

/** What a config file gave, when it can be one. What its specs say is for the runtime to check. */
export function checkConfig(value: unknown, file: string): ProjectConfig {
  assertConfig(value, file);
  return value;
}
