import type { AgentCard } from "@a2a-js/sdk";
import { type Client, ClientFactory, RestTransportFactory } from "@a2a-js/sdk/client";
import { AwakenError, errorMessage, Secret } from "@awaken/contract";
import { type Link, openLink, Unreachable } from "./link.ts";
import type { Hide } from "./parts.ts";
import type { Setup } from "./setup.ts";

/** The official client on connections of its own, for as long as one exchange takes. */
export interface Conversation {
  readonly client: Client;
  readonly link: Link;
  readonly hide: Hide;
}

/** What is shorter would be found in any text. */
const MIN_SECRET = 6;

/** Puts a mask where a text repeats the token: servers quote what they were sent. */
export function hideToken({ auth }: Pick<Setup["endpoint"], "auth">): Hide {
  const token = auth?.token.reveal() ?? "";
  return token.length < MIN_SECRET ? (text) => text : (text) => text.replaceAll(token, Secret.MASK);
}

/** The client chooses by a card how to speak; of an agent that is only configured, this much is known. */
const cardOf = ({ endpoint: { baseUrl, target = "" } }: Setup): AgentCard => ({
  ...{ name: "", description: "", version: "", provider: undefined, documentationUrl: undefined, iconUrl: undefined },
  supportedInterfaces: [{ url: baseUrl, protocolBinding: "HTTP+JSON", protocolVersion: "1.0", tenant: target }],
  capabilities: { streaming: true, pushNotifications: false, extensions: [], extendedAgentCard: false },
  ...{ securitySchemes: {}, securityRequirements: [], defaultInputModes: [], defaultOutputModes: [], skills: [], signatures: [] },
});

export async function openConversation(setup: Setup): Promise<Conversation> {
  const { endpoint, addresses, maxBytes } = setup;
  const { auth, baseUrl } = endpoint;
  const sentTo = auth === undefined ? undefined : { origin: new URL(baseUrl).origin, token: auth.token.reveal() };
  const link = openLink({ addresses, auth: sentTo, maxBytes });
  const factory = new ClientFactory({ transports: [new RestTransportFactory({ fetchImpl: link.fetch })] });
  return { client: await factory.createFromAgentCard(cardOf(setup)), link, hide: hideToken(endpoint) };
}

/** What the other side answered with, when it refused. */
export const statusOf = (thrown: unknown): number | undefined =>
  thrown instanceof Error && "statusCode" in thrown && typeof thrown.statusCode === "number" ? thrown.statusCode : undefined;

/** It may work another time: nobody answered, or somebody who cannot now. */
export function isPassing(thrown: unknown): boolean {
  if (thrown instanceof Unreachable) return true;
  const status = statusOf(thrown);
  return status === 408 || status === 429 || (status !== undefined && status >= 500 && status !== 501);
}

interface Words {
  /** Nobody answered. */
  readonly unreached: string;
  readonly refused: string;
  /** The answer is none. */
  readonly unreadable: string;
}

/** An error of ours, without what must not be shown. */
export function remoteError(thrown: unknown, words: Words, hide: Hide): AwakenError {
  if (AwakenError.is(thrown)) return thrown;
  const what = thrown instanceof Unreachable ? words.unreached : statusOf(thrown) === undefined ? words.unreadable : words.refused;
  const status = statusOf(thrown);
  // Not as its cause: it holds headers and texts of the other side.
  return new AwakenError(
    "remote_failed",
    `remote error: ${what}: ${hide(errorMessage(thrown))}`,
    status === undefined ? {} : { details: { status } },
  );
}
