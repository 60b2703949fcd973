/** Cycles of a graph, each as the path from its smallest node back to it. A graph with any cycle yields at least one. */
export function findCycles(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const cycles: string[][] = [];
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (node: string): void => {
    const start = path.indexOf(node);
    if (start >= 0) cycles.push(closed(path.slice(start)));
    if (start >= 0 || done.has(node)) return;
    path.push(node);
    for (const next of graph.get(node) ?? []) visit(next);
    path.pop();
    done.add(node);
  };
  for (const node of [...graph.keys()].sort()) visit(node);
  return cycles;
}

function closed(nodes: readonly string[]): string[] {
  const [first = ""] = nodes.toSorted();
  const at = nodes.indexOf(first);
  return [...nodes.slice(at), ...nodes.slice(0, at), first];
}
