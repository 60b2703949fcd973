import { chat as openChat } from "../chat/chat.ts";
import type { ChatCommandOptions } from "../commands/chat.ts";
import type { Shell } from "../shell.ts";
import { remoteHost } from "./chat-host.ts";
import { openClient } from "./open-client.ts";

/** The chat with the agents of a server. */
export async function chat(shell: Shell, options: ChatCommandOptions): Promise<number> {
  const { agent, thread, server = "" } = options;
  const { stdin, stdout, stderr, env, cwd } = shell;
  const host = remoteHost(openClient(options, shell), { url: server, cwd });
  // Who cannot ask is told before the screen is drawn.
  await host.threadIds(1);
  return await openChat(host, {
    stdin,
    stdout,
    stderr,
    env,
    project: options,
    ...(agent === undefined ? {} : { agent }),
    ...(thread === undefined ? {} : { thread }),
  });
}
