// JSON in log lines.
import assert from 'node:assert/strict';
import test from 'node:test';
import { jsonIn } from '../../../swagent/collector/page/logs/json_text.js';

test('JSON behind words is indented, and its numbers stay as written', () => {
  assert.deepEqual(jsonIn('order {"id": 10000000000000000001, "a": []}'), [
    'order',
    '{\n  "id": 10000000000000000001,\n  "a": []\n}',
  ]);
  const nested = '{"a":[1,{"b":"x, {y}: \\"z\\""}],"e":[],"o":{}}';
  const lines = ['{', '  "a": [', '    1,', '    {', '      "b": "x, {y}: \\"z\\""', '    }', '  ],', '  "e": [],', '  "o": {}', '}'];
  assert.deepEqual(jsonIn(nested), ['', lines.join('\n')]);
});

test('a bracket in the words is no JSON', () => {
  assert.deepEqual(jsonIn('[main] {"a": 1}'), ['[main]', '{\n  "a": 1\n}']);
  for (const text of ['', 'no JSON', '[main] started', '{}', '[]', '{not json}', 'took [3 ms]', 'ends with {', '{"a": 1} and more']) assert.equal(jsonIn(text), null);
});
