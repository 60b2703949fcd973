import { chat as openChat } from "../chat/chat.ts";
import { localHost } from "../chat/local-host.ts";
import { loadProject } from "../load-project.ts";
import type { ProjectOptions, Shell } from "../shell.ts";

export interface ChatCommandOptions extends ProjectOptions {
  readonly agent?: string;
  readonly thread?: string;
}

export async function chat(shell: Shell, options: ChatCommandOptions): Promise<number> {
  const { agent, thread } = options;
  await using project = await loadProject({ ...options, cwd: shell.cwd, env: shell.env });
  return await openChat(localHost(project), {
    stdin: shell.stdin,
    stdout: shell.stdout,
    stderr: shell.stderr,
    env: shell.env,
    project: options,
    ...(agent === undefined ? {} : { agent }),
    ...(thread === undefined ? {} : { thread }),
  });
}
