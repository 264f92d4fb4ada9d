// What a call asks for: the same text for each call that differs only by its values; pure.
import { tagOf } from './loop_blocks.js';

// as the collector's findings name calls
const STRING = /'(?:[^']|'')*'|\$\d+|:\w+|%\(\w+\)s|%s/g;
const NUMBER = /\b\d+(?:\.\d+)?\b/g;
const LIST = /\(\s*\?(?:\s*,\s*\?)+\s*\)/g;
const LONGEST = 120;

// a statement without its values
export function fingerprint(statement) {
  const text = statement.replace(/\s+/g, ' ').trim();
  return text.replace(STRING, '?').replace(NUMBER, '?').replace(LIST, '(?)').slice(0, LONGEST);
}

// by which calls of one span are the same: two statements of one summary are not
export function statementOf(span) {
  const statement = tagOf(span, 'db.statement');
  return statement ? fingerprint(statement) : (tagOf(span, 'db.query.summary') ?? tagOf(span, 'db.operation') ?? '');
}

// in a row: the summary, which is short, else the statement; nothing that the operation says already
export function summaryOf(span) {
  const found = tagOf(span, 'db.query.summary') ?? statementOf(span);
  return span.operation.includes(found) ? '' : found;
}

export const peerOf = span => (span.kind === 'exit' ? span.peer : '');
