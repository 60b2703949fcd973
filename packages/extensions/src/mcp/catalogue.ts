import { AwakenError } from "@awaken/contract";
import type { Connection } from "./connection.ts";
import type { McpPrompt, McpResource, McpResourceContents } from "./types.ts";

/** At most so many of a list are given. */
const MAX_ENTRIES = 1_000;

const lacks = (what: string): never => {
  throw new AwakenError("capability_mismatch", `the MCP server has no ${what}`);
};

export async function listPrompts({ client, capabilities, limits }: Connection): Promise<readonly McpPrompt[]> {
  if (capabilities.prompts === undefined) return [];
  const { prompts } = await client.listPrompts(undefined, limits);
  return prompts.slice(0, MAX_ENTRIES).map(({ name, title, description, arguments: args = [] }) => ({
    name,
    title,
    description,
    arguments: args.map((one) => ({ name: one.name, description: one.description, required: one.required ?? false })),
  }));
}

/** The text of all messages; what is not text is named. */
export async function getPrompt({ client, capabilities, limits }: Connection, name: string, args: { readonly [name: string]: string }) {
  if (capabilities.prompts === undefined) lacks("prompts");
  const { messages } = await client.getPrompt({ name, arguments: { ...args } }, limits);
  return messages
    .map(({ content }) => {
      if (content.type === "text") return content.text;
      if (content.type === "resource" && "text" in content.resource) return content.resource.text;
      return `[${content.type}]`;
    })
    .join("\n\n");
}

export async function listResources({ client, capabilities, limits }: Connection): Promise<readonly McpResource[]> {
  if (capabilities.resources === undefined) return [];
  const { resources } = await client.listResources(undefined, limits);
  return resources.slice(0, MAX_ENTRIES).map(({ uri, name, description, mimeType }) => ({ uri, name, description, mimeType }));
}

export async function readResource({ client, capabilities, limits }: Connection, uri: string): Promise<readonly McpResourceContents[]> {
  if (capabilities.resources === undefined) lacks("resources");
  const { contents } = await client.readResource({ uri }, limits);
  return contents.map((one) => ({
    uri: one.uri,
    mimeType: one.mimeType,
    text: "text" in one ? one.text : undefined,
    blob: "blob" in one ? one.blob : undefined,
  }));
}

/** Both eras: a request of its own in the older one, a stream in the newer. */
export async function subscribe({ client, capabilities, limits }: Connection, uri: string): Promise<() => Promise<void>> {
  if (capabilities.resources?.subscribe !== true) lacks("subscriptions to resources");
  if (client.getProtocolEra() === "modern") {
    const subscription = await client.listen({ resourceSubscriptions: [uri] });
    return () => subscription.close();
  }
  await client.subscribeResource({ uri }, limits);
  return async () => {
    await client.unsubscribeResource({ uri }, limits);
  };
}

export async function complete({ client, capabilities, limits }: Connection, prompt: string, name: string, value: string) {
  if (capabilities.completions === undefined) return [];
  const { completion } = await client.complete({ ref: { type: "ref/prompt", name: prompt }, argument: { name, value } }, limits);
  return completion.values;
}
