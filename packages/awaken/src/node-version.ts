export const NODE_MAJOR = 24;

/** What is wrong with this version of Node, in one line. Older ones lack what the library and its TypeScript configs need. */
export function nodeProblem(version: string): string | undefined {
  const major = Number(version.split(".")[0]);
  return major >= NODE_MAJOR ? undefined : `awaken needs Node ${NODE_MAJOR} or newer, and this is Node ${version}`;
}
