import type { ToolDescriptor } from "@awaken/contract";

type Tools = readonly ToolDescriptor[];

/** By name, in the order in which they are listed; what is not there is skipped. */
function select(tools: Tools, list: string): Tools {
  const ids = new Set(list.split(",").map((id) => id.trim()));
  return [...ids].flatMap((id) => tools.find((tool) => tool.id === id) ?? []);
}

const wordsOf = (text: string): readonly string[] =>
  text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");

/** By the number of words that occur in id or description; `+word` has to occur. Of equals the id decides. */
function rank(tools: Tools, query: string): Tools {
  const words = wordsOf(query);
  const needed = words.flatMap((word) => (word.startsWith("+") && word.length > 1 ? [word.slice(1)] : []));
  const all = new Set(words.map((word) => (word.startsWith("+") && word.length > 1 ? word.slice(1) : word)));
  return tools
    .map((tool) => {
      const text = `${tool.id} ${tool.description}`.toLowerCase();
      const has = (word: string) => text.includes(word);
      return { tool, score: needed.every(has) ? [...all].filter(has).length : 0 };
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || (a.tool.id < b.tool.id ? -1 : 1))
    .map(({ tool }) => tool);
}

const SELECT = "select:";

/** `select:a,b` names tools; anything else is words to look for. */
export function searchTools(tools: Tools, query: string, maxResults: number): Tools {
  const text = query.trim();
  if (text.startsWith(SELECT)) return select(tools, text.slice(SELECT.length));
  return rank(tools, text).slice(0, maxResults);
}

/** What the model reads of a tool: all it needs to call it, under the id that it calls it by. */
const describe = ({ id, description, parameters }: ToolDescriptor): string =>
  `<function>${JSON.stringify({ description, name: id, parameters })}</function>`;

export const describeTools = (tools: Tools): string => ["<functions>", ...tools.map(describe), "</functions>"].join("\n");
