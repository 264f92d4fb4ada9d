// A colour and a mark for each service, by its name alone: the same on every view, in every browser and after each
// restart. Two of many services may get the same; their names are beside the marks.
const COLOURS = 16;
const MARKS = 2;
const SEED = 3299; // with which names that are frequent get colours that differ

// as FNV-1a does it, and a last mix, so that names that differ in their last letter are far apart
function hash(text) {
  let sum = SEED;
  for (const letter of text) sum = Math.imul(sum ^ letter.codePointAt(0), 0x01000193);
  sum = Math.imul(sum ^ (sum >>> 15), 0x2c1b3c6d);
  return (sum ^ (sum >>> 12)) >>> 0;
}

export function colourClass(service) {
  const number = hash(service) % (COLOURS * MARKS);
  return `c${number % COLOURS} m${Math.floor(number / COLOURS)}`;
}
