// A part of the map: one service, who calls it and whom it calls.
export function around(data, name) {
  if (!name || !data.nodes.some(each => each.name === name)) return data;
  const edges = data.edges.filter(each => each.from === name || each.to === name);
  const near = new Set([name, ...edges.flatMap(each => [each.from, each.to])]);
  return { ...data, nodes: data.nodes.filter(each => near.has(each.name)), edges };
}
