// The text of a query.
import assert from 'node:assert/strict';
import test from 'node:test';
import { addTerm, isUnfinished, openQuery, plainText, quote, tagTerm, wordAt, words } from '../../../swagent/collector/page/traces/query_text.js';

test('words keep what is quoted together', () => {
  assert.deepEqual(words('service:shop "out of stock" k="a b"'), ['service:shop', '"out of stock"', 'k="a b"']);
  assert.deepEqual(words('k="a \\" b" c'), ['k="a \\" b"', 'c']);
  assert.deepEqual(words('  '), []);
});

test('a value is quoted where it needs quotes', () => {
  assert.deepEqual(['plain', 'a b', 'a*', 'a"b', 'a\\b', ''].map(each => quote(each)), [
    'plain', '"a b"', '"a*"', '"a\\"b"', '"a\\\\b"', '""',
  ]);
});

test('a term and its words lead back to its parts', () => {
  for (const [key, value] of [['k', 'v'], ['a b', 'c d'], ['k', 'x"y\\z'], ['k=1', '']]) {
    const term = tagTerm(key, value);
    assert.deepEqual(words(term), [term]);
    const { key: name, operator, part } = wordAt(term, term.length);
    assert.deepEqual([name, operator, part], [key, '=', value]);
  }
});

test('a tag that has the name of a facet is in quotes', () => {
  assert.equal(tagTerm('service', 'shop'), '"service"=shop');
});

test('a query that is one text can be looked for elsewhere', () => {
  const texts = ['no lamps left', '"no lamps" left', 'out', 'a tenant=globex', 'service:shop', 'dur>1s', 'status!=200', ''];
  assert.deepEqual(texts.map(plainText), ['no lamps left', 'no lamps left', 'out', '', '', '', '', '']);
});

test('a term is added once', () => {
  assert.equal(addTerm('', 'a=1'), 'a=1');
  assert.equal(addTerm(null, 'a=1'), 'a=1');
  assert.equal(addTerm('b=2', 'a=1'), 'b=2 a=1');
  assert.equal(addTerm('a=1 b=2', 'a=1'), 'a=1 b=2');
});

test('the word at the caret', () => {
  const at = caret => wordAt('service:sh tenant!=gl dur', caret);
  assert.deepEqual(at(9), { start: 0, end: 10, key: 'service:', operator: null, part: 'sh' });
  assert.deepEqual(at(21), { start: 11, end: 21, key: 'tenant', operator: '!=', part: 'gl' });
  assert.deepEqual(at(25), { start: 22, end: 25, key: null, operator: null, part: 'dur' });
  assert.deepEqual(wordAt('a  b', 2), { start: 2, end: 2, key: null, operator: null, part: '' });
});

test('what is not finished is not asked for', () => {
  for (const text of ['tenant=', 'dur>', 'k!', 'service:', '"out of', 'a "b c']) assert.ok(isUnfinished(text), text);
  for (const text of ['', 'tenant=gl', 'tenant= ', 'service:shop', '"out of stock"']) assert.ok(!isUnfinished(text), text);
});

test('a value that others begin with means these, too, until it is finished', () => {
  const names = ['globex', 'globex-eu'];
  assert.equal(openQuery('dur>1s tenant=gl', names), 'dur>1s tenant=gl*');
  assert.equal(openQuery('service:gl', names), 'service:gl*');
  for (const text of ['tenant=globex', 'tenant=other', 'tenant!=gl', 'tenant="gl', 'tenant=gl ', 'gl', 'tenant=', 'tenant=gl*'])
    assert.equal(openQuery(text, names), null, text);
});
