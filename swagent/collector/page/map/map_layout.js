// Where the nodes and edges of the map go: the graph library decides.
import dagre, { Graph } from '../vendor/dagre.js';

// how large things are drawn. Where the page is narrow there are no texts at the lines: a list below has them.
export const ROOMY = {
  node: { width: 164, height: 54 },
  label: { width: 112, height: 22 },
  gaps: { nodesep: 24, edgesep: 14, ranksep: 40, marginx: 20, marginy: 20 },
  least: 0.8,
};
// of many lines only some have texts, which may lie over others
export const MANY = {
  node: { width: 158, height: 48 },
  label: { width: 24, height: 2 },
  gaps: { nodesep: 16, edgesep: 10, ranksep: 54, marginx: 20, marginy: 20 },
  least: 0.62,
};
export const COMPACT = {
  node: { width: 118, height: 46 },
  label: { width: 6, height: 2 },
  gaps: { nodesep: 10, edgesep: 8, ranksep: 22, marginx: 12, marginy: 14 },
  least: 0.7,
};

// how large the whole can be drawn
export const fit = (places, room) => Math.min(1.1, room.width / places.width, room.height / places.height);

export function arrange(data, rankdir, size) {
  const graph = new Graph();
  graph.setGraph({ rankdir, ...size.gaps });
  graph.setDefaultEdgeLabel(() => ({}));
  const loops = new Set(data.edges.filter(each => each.from === each.to).map(each => each.from));
  for (const { name } of data.nodes)
    graph.setNode(name, loops.has(name) ? roomForLoop(rankdir, size) : { ...size.node });
  const known = new Set(data.nodes.map(each => each.name));
  for (const { from, to } of data.edges) {
    if (from !== to && known.has(from) && known.has(to)) graph.setEdge(from, to, { ...size.label, labelpos: 'c' });
  }
  dagre.layout(graph);
  const { width, height } = graph.graph();
  const edges = new Map(
    graph.edges().map(each => {
      const { points, x, y } = graph.edge(each);
      return [`${each.v}\n${each.w}`, { path: curve(points), x, y }];
    }),
  );
  for (const name of loops) if (known.has(name)) edges.set(`${name}\n${name}`, loop(graph.node(name), rankdir, size));
  return {
    width: Math.ceil(width),
    height: Math.ceil(height),
    edges,
    nodes: new Map(graph.nodes().map(name => [name, graph.node(name)])),
  };
}

// a service that calls itself: beside the box where no other line ends, and as much room on the other side, so that
// the others still end at the box
const LOOP = 36;
const roomForLoop = (rankdir, { node, label }) =>
  rankdir === 'LR'
    ? { width: node.width, height: node.height + 2 * (LOOP + label.height) }
    : { width: node.width + 2 * (LOOP + label.width), height: node.height };

function loop({ x, y }, rankdir, { node, label }) {
  const deep = (LOOP * 4) / 3; // a curve goes three quarters of the way to its handles
  if (rankdir === 'LR') {
    const edge = y + node.height / 2;
    const out = node.width / 2 - 22;
    const path = `M${x + out} ${edge}C${x + out + 30} ${edge + deep} ${x - out - 30} ${edge + deep} ${x - out} ${edge}`;
    return { path, x, y: edge + LOOP };
  }
  const edge = x + node.width / 2;
  const path = `M${edge} ${y + 14}C${edge + deep} ${y + 40} ${edge + deep} ${y - 40} ${edge} ${y - 14}`;
  return { path, x: edge + LOOP + label.width / 2, y };
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
