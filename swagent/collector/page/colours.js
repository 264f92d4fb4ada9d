// A colour for each service: the same on every view, and after a reload as long as the services are the same.
const COLOURS = 10;
const taken = new Map();

export function colourIndex(service) {
  if (taken.has(service)) return taken.get(service);
  let hash = 7;
  for (const letter of service) hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
  const used = new Set(taken.values());
  let index = hash % COLOURS;
  for (let step = 0; step < COLOURS && used.has(index); step += 1) index = (index + 1) % COLOURS;
  if (used.has(index)) index = hash % COLOURS; // more services than colours
  taken.set(service, index);
  return index;
}

// two that want the same colour get theirs in the order in which they ask: let that always be the same one
export function knowServices(names) {
  for (const name of [...names].sort()) colourIndex(name);
}

export const colourClass = service => `c${colourIndex(service)}`;
