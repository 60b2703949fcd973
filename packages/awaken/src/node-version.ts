export const NODE_MAJOR = 24;

/** What is wrong with this version of Node, in one line. Older ones lack what the library and its TypeScript configs need. */
export function nodeProblem(version: string): string | undefined {
  const major = Number(version.split(".")[0]);
  return major >= NODE_MAJOR ? undefined : `awaken needs Node ${NODE_MAJOR} or newer, and this is Node ${version}`;
}

/** What helps; a new project brings a Node of its own, so that one is needed only to write it. */
export const nodeFix = ([command = "", ...rest]: readonly string[]): string =>
  command === "init"
    ? `install it from https://nodejs.org, or \`npx -p node@${NODE_MAJOR} -p awaken awaken ${[command, ...rest].join(" ")}\`: the project that it writes brings its own`
    : `install it from https://nodejs.org, or \`npm install --save-dev node@${NODE_MAJOR}\`: \`npx awaken\` then runs on it`;
