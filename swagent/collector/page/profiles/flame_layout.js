// From the calls of a profile to bars: what calls what, which calls become one, and where each bar lies.
const LONG = 3; // so many calls of libraries, one below the other, become one bar
export const STATES = ['running', 'ready', 'awaiting'];

// the API gives each call before those that it made
export function grow(nodes) {
  const roots = [];
  const above = [];
  for (const node of nodes) {
    const parent = above[node.depth - 1] ?? null;
    const call = { ...node, parent, children: [], key: keyOf(parent, node.name), split: null };
    (parent ? parent.children : roots).push(call);
    above[node.depth] = call;
  }
  const timed = roots.some(each => each.ms > 0);
  // below come before above: the list is in the order of the tree
  for (const call of flat(roots).reverse()) {
    call.size = timed ? call.ms : call.count;
    call.split = splitOf(call);
  }
  return roots;
}

// the way to a call, short enough for an address
function keyOf(parent, name) {
  let hash = parent ? parseInt(parent.key, 16) : 2166136261;
  for (const letter of `/${name}`) hash = Math.imul(hash ^ letter.codePointAt(0), 16777619) >>> 0;
  return hash.toString(16);
}

function splitOf(call) {
  const split = { running: 0, ready: 0, awaiting: 0 };
  if (call.state) split[call.state] = call.size;
  for (const child of call.children) for (const state of STATES) split[state] += child.split[state];
  return split;
}

export function flat(calls) {
  const found = [];
  const waiting = [...calls].reverse();
  while (waiting.length > 0) {
    const call = waiting.pop();
    found.push(call);
    for (let index = call.children.length - 1; index >= 0; index -= 1) waiting.push(call.children[index]);
  }
  return found;
}

// Rows of calls into libraries, of which each is the only one of the one before, as one: the way from the server to the
// application's own code says little. Depth by depth, so that deep stacks are no trouble.
export function fold(roots) {
  const copies = list => list.map(call => ({ call, copy: null }));
  const result = copies(roots);
  const waiting = result.map(each => ({ ...each, put: copy => (each.copy = copy), parent: null }));
  while (waiting.length > 0) {
    const { call, put, parent } = waiting.pop();
    const row = rowFrom(call);
    const last = row.length >= LONG ? row.at(-1) : call;
    const copy = { ...last, ...(last === call ? {} : named(row)), parent, depth: parent ? parent.depth + 1 : 0 };
    put(copy);
    copy.children = new Array(last.children.length);
    last.children.forEach((child, index) =>
      waiting.push({ call: child, parent: copy, put: made => (copy.children[index] = made) }),
    );
  }
  return result.map(each => each.copy);
}

function rowFrom(call) {
  const row = [];
  for (let each = call; each?.library; each = each.children.length === 1 ? each.children[0] : null) {
    if (each.size !== call.size) break;
    row.push(each);
  }
  return row;
}

function named(row) {
  const packages = [...new Set(row.map(each => each.name.split('.')[0]))];
  return { name: `… ${row.length} calls in ${packages.join(', ')}`, folded: row.length, key: row[0].key };
}

export const byKey = (roots, key) => (key ? flat(roots).find(each => each.key === key) : undefined);

export const sizeOf = calls => calls.reduce((sum, each) => sum + each.size, 0);

// the calls of the requests themselves: shares are of these, and tasks and threads beside them come on top
export function own(roots) {
  const found = roots.filter(each => !each.beside);
  return found.length > 0 ? found : roots;
}

const LEAST = 0.12; // percent: what is narrower is not drawn

// bars in percent: those above the chosen call as wide as all, and what is below it
export function lay(roots, chosen) {
  const bars = [];
  const above = [];
  for (let each = chosen?.parent; each; each = each.parent) above.unshift(each);
  above.forEach((call, level) => bars.push({ call, level, left: 0, width: 100, above: true }));
  const shown = chosen ? [chosen] : roots;
  const total = Math.max(sizeOf(shown), 1);
  const waiting = [];
  const push = (calls, level, begin) => {
    let at = begin;
    for (const call of calls) {
      waiting.push({ call, level, left: at, width: (call.size / total) * 100 });
      at += (call.size / total) * 100;
    }
  };
  push(shown, above.length, 0);
  for (let index = 0; index < waiting.length; index += 1) {
    const bar = waiting[index];
    if (bar.width < LEAST && sizeOf(shown) > 0) continue;
    bars.push(bar);
    push(bar.call.children, bar.level + 1, bar.left);
  }
  return { bars, levels: bars.reduce((most, bar) => Math.max(most, bar.level + 1), 0), total };
}
