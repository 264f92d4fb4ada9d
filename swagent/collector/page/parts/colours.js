// A colour and a mark for each service: the same on every view, and after each reload. Beyond ten services the colours
// come again, with another mark.
const COLOURS = 10;
const MARKS = 4;
const MOST = 400; // services that are remembered
const KEY = 'swagent-colours';
const taken = new Map(stored());

function stored() {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return found.filter(([name, number]) => typeof name === 'string' && Number.isInteger(number) && number >= 0);
  } catch {
    return []; // storage is forbidden, or holds something else
  }
}

function store() {
  try {
    localStorage.setItem(KEY, JSON.stringify([...taken].slice(-MOST)));
  } catch {
    // then it lasts as long as the page
  }
}

function hash(text) {
  let sum = 7;
  for (const letter of text) sum = (sum * 31 + letter.codePointAt(0)) >>> 0;
  return sum;
}

// the colour that its name leads to, or the next free one; with the first mark that has a free one
function numberOf(service) {
  const used = new Set(taken.values());
  const wanted = hash(service);
  for (let mark = 0; mark < MARKS; mark += 1) {
    for (let step = 0; step < COLOURS; step += 1) {
      const number = mark * COLOURS + ((wanted + step) % COLOURS);
      if (!used.has(number)) return number;
    }
  }
  return wanted % (COLOURS * MARKS);
}

export function knowServices(names) {
  const unknown = names.filter(name => !taken.has(name)).sort();
  for (const name of unknown) taken.set(name, numberOf(name));
  if (unknown.length > 0) store();
}

export function colourClass(service) {
  knowServices([service]);
  const number = taken.get(service);
  return `c${number % COLOURS} m${Math.floor(number / COLOURS) % MARKS}`;
}
