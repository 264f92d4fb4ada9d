// JSON in log lines, indented. Only blanks are changed: a number that was parsed could come back as another one.
const INDENT = '  ';

// [the text before it, the indented JSON], or null where there is none; a layout may have put words before it
export function jsonIn(text) {
  const begin = text.search(/[{[]/);
  for (const at of new Set([begin, text.indexOf('{')])) {
    if (at < 0) continue;
    const rest = text.slice(at).trim();
    try {
      const value = JSON.parse(rest);
      if (Object.keys(value).length > 0) return [text.slice(0, at).trimEnd(), indented(rest)];
    } catch {
      // words with a bracket in them
    }
  }
  return null;
}

// of a text that is JSON
function indented(text) {
  let found = '';
  let depth = 0;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/gs)) {
    const line = `\n${INDENT.repeat(Math.max(0, token === '}' || token === ']' ? depth - 1 : depth))}`;
    if (token === '{' || token === '[') {
      found += afterOpening(found) ? line + token : token;
      depth += 1;
    } else if (token === '}' || token === ']') {
      found += /[{[]$/.test(found) ? token : line + token;
      depth -= 1;
    } else if (token === ',') found += token;
    else if (token === ':') found += ': ';
    else found += afterOpening(found) ? line + token : token;
  }
  return found;
}

// where an element begins
const afterOpening = text => /[{[,]$/.test(text);
