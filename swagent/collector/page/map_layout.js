// Where the nodes and edges of the map go: the graph library decides.
import dagre, { Graph } from './vendor/dagre.js';

export const NODE = { width: 164, height: 54 };
const LABEL = { width: 104, height: 20 };

// how large the whole may be drawn
export const fit = (places, room) => Math.min(1.1, room.width / places.width, room.height / places.height);

export function arrange(data, rankdir) {
  const graph = new Graph();
  graph.setGraph({ rankdir, nodesep: 26, edgesep: 16, ranksep: 40, marginx: 20, marginy: 20 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of data.nodes) graph.setNode(node.name, { ...NODE });
  const known = new Set(data.nodes.map(each => each.name));
  for (const edge of data.edges) {
    if (known.has(edge.from) && known.has(edge.to)) graph.setEdge(edge.from, edge.to, { ...LABEL, labelpos: 'c' });
  }
  dagre.layout(graph);
  const { width, height } = graph.graph();
  const edges = new Map(
    graph.edges().map(each => {
      const { points, x, y } = graph.edge(each);
      return [`${each.v}\n${each.w}`, { path: curve(points), x, y }];
    }),
  );
  return {
    width: Math.ceil(width),
    height: Math.ceil(height),
    edges,
    nodes: new Map(graph.nodes().map(name => [name, graph.node(name)])),
  };
}

// through the middles between the layout's points, so that there are no corners
function curve(points) {
  const [first, ...rest] = points;
  let path = `M${first.x} ${first.y}`;
  for (let index = 0; index < rest.length - 1; index += 1) {
    const [here, next] = [rest[index], rest[index + 1]];
    const end = index === rest.length - 2 ? next : { x: (here.x + next.x) / 2, y: (here.y + next.y) / 2 };
    path += `Q${here.x} ${here.y} ${end.x} ${end.y}`;
  }
  if (rest.length === 1) path += `L${rest[0].x} ${rest[0].y}`;
  return path;
}
