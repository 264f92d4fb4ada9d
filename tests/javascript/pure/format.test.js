// Numbers and times as people read them.
import assert from 'node:assert/strict';
import test from 'node:test';
import { age, ago, count, duration, percent, plural, roundDuration, short } from '../../../swagent/collector/page/parts/format.js';

const table = (name, format, rows) =>
  test(name, () => assert.deepEqual(rows.map(([given]) => format(given)), rows.map(([, expected]) => expected)));

table('counts', count, [[null, '–'], [undefined, '–'], [0, '0'], [1234567, '1,234,567'], [0.126, '0.13']]);
table('short numbers', short, [[9999, '9,999'], [12345, '12.3k'], [-12345, '-12.3k'], [1e6, '1M'], [2.5e9, '2.5G']]);
table('durations', duration, [
  [null, '–'], [0, '0 ms'], [0.004, '0.00 ms'], [0.5, '0.50 ms'], [999, '999 ms'], [1000, '1.00 s'],
  [12_340, '12.3 s'], [61_000, '1 min 01 s'], [3_660_000, '1 h 01 min'],
]);
table('durations beside an axis', roundDuration, [[0.25, '0.25 ms'], [1000, '1 s'], [90_000, '1.5 min'], [7.2e6, '2 h']]);
table('chosen lengths of time', age, [[60, '1 min'], [5400, '90 min'], [3600, '1 h'], [172_800, '2 d'], [45, '45.0 s']]);
table('shares', percent, [[0, '0 %'], [null, '0 %'], [0.0004, '< 0.1 %'], [0.0123, '1.2 %'], [0.5, '50 %'], [1, '100 %']]);
table('plurals', number => plural(number, 'span'), [[0, '0 spans'], [1, '1 span'], [2000, '2,000 spans']]);

test('how long ago', () => {
  const now = 1_700_000_000_000;
  const seconds = [-5, 1, 59, 60, 3599, 3600, 86_400];
  assert.deepEqual(
    seconds.map(each => ago(now - each * 1000, now)),
    ['now', 'now', '59 s ago', '1 min ago', '59 min ago', '1 h ago', '1 d ago'],
  );
});
