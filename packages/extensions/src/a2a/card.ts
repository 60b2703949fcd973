import { AgentCard, type AgentInterface } from "@a2a-js/sdk";
import { DefaultAgentCardResolver } from "@a2a-js/sdk/client";
import { AwakenError, errorMessage } from "@awaken/contract";
import { a2aServerEndpoint, type parseA2aServerSpec, parseRemoteEndpoint, type RemoteEndpoint } from "@awaken/contract/spec";
import type { Addresses } from "./addresses.ts";
import { hideToken } from "./conversation.ts";
import { openLink, Unreachable } from "./link.ts";

const MAX_CARD_BYTES = 262_144;
const MAX_DESCRIPTION = 1_000;

/** An agent as its card has it. */
export interface CardAgent {
  readonly id: string;
  readonly description: string;
  readonly remote: RemoteEndpoint;
}

interface Source {
  readonly server: ReturnType<typeof parseA2aServerSpec>;
  readonly addresses: Addresses;
}

const refuse = (message: string): AwakenError => new AwakenError("remote_failed", message);

async function fetchCard({ server, addresses }: Source, origin: string, signal: AbortSignal): Promise<AgentCard> {
  const { auth } = server;
  const hide = hideToken(server);
  const sentTo = auth === undefined ? undefined : { origin, token: auth.token.reveal() };
  const link = openLink({ addresses, auth: sentTo, maxBytes: MAX_CARD_BYTES });
  const url = `${origin}/.well-known/agent-card.json`;
  let isAnswered = false;
  const resolver = new DefaultAgentCardResolver({
    fetchImpl: async (input, init) => {
      const answer = await link.fetch(input, { ...init, signal });
      isAnswered = answer.ok;
      return answer;
    },
  });
  try {
    const card: unknown = await resolver.resolve(origin);
    if (typeof card !== "object" || card === null) throw new TypeError("it is no object");
    return AgentCard.fromJSON(card);
  } catch (thrown) {
    const isDecoding = isAnswered && !(thrown instanceof Unreachable) && !AwakenError.is(thrown);
    const why = hide(signal.aborted ? "it took too long" : errorMessage(thrown));
    throw refuse(isDecoding ? `failed to decode agent card from ${url}: ${why}` : `HTTP request failed for ${url}: ${why}`);
  } finally {
    link.close();
  }
}

const isHttpJson = ({ protocolBinding }: AgentInterface): boolean => protocolBinding.toUpperCase() === "HTTP+JSON";

/** Lower case, with a dash where there was anything else than letters and digits. */
function slug(name: string): string {
  const dashed = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "");
  return dashed === "" ? "agent" : dashed;
}

/** What would be a path, or hide in a list, is not taken as it is. */
const idOf = ({ tenant }: AgentInterface, name: string): string =>
  /^[\w.~-]{1,128}$/.test(tenant) ? tenant : slug(tenant === "" ? name : tenant);

/** Throws when the card sends requests, or a token, where its reader did not mean them to go. */
function checkInterface({ server, addresses }: Source, url: URL): void {
  const source = new URL(server.baseUrl);
  if (url.origin !== source.origin && server.auth !== undefined) {
    throw refuse(`its interface is at ${url.origin}, and the token is for ${source.origin}: name the agent itself, with \`remote\``);
  }
  if (source.protocol === "https:" && url.protocol !== "https:")
    throw refuse(`its interface at ${url.origin} is not encrypted, and the card was`);
  addresses.checkHost(url);
}

function toAgent(source: Source, card: AgentCard): CardAgent {
  const { server } = source;
  const candidates = card.supportedInterfaces.filter(isHttpJson);
  const [chosen = candidates[0]] = candidates.filter(({ protocolVersion }) => protocolVersion === "1.0");
  if (chosen === undefined) {
    const offered = card.supportedInterfaces.map(({ protocolBinding }) => protocolBinding || "none").slice(0, 10);
    throw refuse(`it offers ${offered.length === 0 ? "none" : offered.join(", ")}`);
  }
  const { options, ...endpoint } = a2aServerEndpoint(server, server.target ?? (chosen.tenant === "" ? undefined : chosen.tenant));
  const isStreaming = card.capabilities?.streaming ?? false;
  const remote = parseRemoteEndpoint({
    ...endpoint,
    baseUrl: chosen.url,
    options: isStreaming ? options : { streaming: false, ...options },
  });
  checkInterface(source, new URL(remote.baseUrl));
  return { id: idOf(chosen, card.name), description: card.description.trim().slice(0, MAX_DESCRIPTION), remote };
}

/** Reads the card of a server, and believes it as far as it can be believed. */
export async function discoverCard(source: Source, signal: AbortSignal): Promise<CardAgent> {
  const { origin } = new URL(source.server.baseUrl);
  const card = await fetchCard(source, origin, signal);
  try {
    return toAgent(source, card);
  } catch (thrown) {
    const why = hideToken(source.server)(errorMessage(thrown));
    throw refuse(
      `remote agent card from ${origin}/.well-known/agent-card.json does not expose a supported HTTP+JSON v1.0 interface: ${why}`,
    );
  }
}
