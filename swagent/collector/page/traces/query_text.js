// The text of a query: its words, the one at the caret, and how a term is written. The collector reads it whole.
export const FACETS = ['service:', 'endpoint:', 'error:', 'instance:', 'peer:'];
const WORD = /(?:[^\s"]|"(?:[^"\\]|\\.)*"?)+/g;

export const words = text => text.match(WORD) ?? [];

// a value as it is written in a query, in quotes where it needs them
export function quote(value, always = false) {
  if (!always && /^[^\s"*\\]+$/.test(value)) return value;
  return `"${value.replace(/[\\"]/g, '\\$&')}"`;
}

export function tagTerm(key, value, operator = '=') {
  // service=shop is taken for service:shop, so a tag of that name is in quotes
  return `${quote(key, FACETS.includes(`${key}:`) || /[\s"=<>!/?*\\]/.test(key))}${operator}${quote(value, value === '')}`;
}

export function addTerm(text, term) {
  const all = words(text ?? '');
  return all.includes(term) ? text : [...all, term].join(' ');
}

// the word at the caret: where it is, and what it asks for: a key, or the value of one
export function wordAt(text, caret) {
  for (const found of text.matchAll(WORD)) {
    const start = found.index;
    const end = start + found[0].length;
    if (start <= caret && caret <= end) return { start, end, ...asked(found[0]) };
  }
  return { start: caret, end: caret, ...asked('') };
}

function asked(word) {
  const facet = FACETS.find(each => word.startsWith(each));
  if (facet) return { key: facet, operator: null, part: plain(word.slice(facet.length)) };
  const [, name, operator, value] = word.match(/^("(?:[^"\\]|\\.)*"|[^"=<>!/?]*)(!=|=)(.*)$/) ?? [];
  if (name && name !== 'dur') return { key: plain(name), operator, part: plain(value) };
  return { key: null, operator: null, part: plain(word) };
}

const plain = text => text.replace(/^"|"$/g, '').replace(/\\(.)/g, '$1');

// the text that a query looks for, if it asks for nothing else, else empty: errors and logs are found by a text
export function plainText(text) {
  const all = words(text);
  return all.length > 0 && all.every(each => asked(each).key === null && !/^[^"]*[=<>]/.test(each))
    ? all.map(plain).join(' ')
    : '';
}

// a value is still missing, or a quotation mark: nothing to ask the collector for yet
export function isUnfinished(text) {
  const last = words(text).at(-1) ?? '';
  if (/\s$/.test(text) && !/^[^"]*"[^"]*$/.test(last)) return false;
  return /^[^\s"]*[=<>!]$/.test(last) || FACETS.includes(last) || quotesOf(last) % 2 === 1;
}

// While a value is typed that others begin with: the query that finds these, too. Else nothing.
export function openQuery(text, names) {
  const { key, operator, part, start, end } = wordAt(text, text.length);
  if (key === null || operator === '!=' || !part || /["*]/.test(text.slice(start, end))) return null;
  const longer = names.some(each => each.startsWith(part) && each !== part);
  return longer && !names.includes(part) ? `${text}*` : null;
}

const quotesOf = word => (word.replace(/\\./g, '').match(/"/g) ?? []).length;
