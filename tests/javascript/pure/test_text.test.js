// A trace as a test with budgets.
import assert from 'node:assert/strict';
import test from 'node:test';
import { testText } from '../../../swagent/collector/page/trace/test_text.js';

const span = more => ({
  id: 'a', service: 'shop', operation: 'GET:/orders/{id}', kind: 'entry', layer: 'Http', start: 0, end: 3170, error: false, tags: [], ...more,
});
const query = more => span({ kind: 'exit', layer: 'Database', operation: 'SELECT lines', ...more });

test('its budgets are those of the first service', () => {
  const head = span({ tags: [['time.awaiting', '421.5']] });
  const text = testText({ trace_id: 't1', spans: [head, query(), query(), query({ service: 'stock' })] });
  assert.equal(
    text,
    [
      'def test_get_orders_id(trace):',
      '    # GET:/orders/{id} of shop took 3.17 s in trace t1',
      '    ...  # send it to the application in this process',
      '    trace.max_queries(2)',
      '    trace.no_n_plus_one()',
      '    trace.max_blocked_ms(100)',
      '    trace.max_awaiting_ms(850)',
      '    trace.no_failed()',
      '',
    ].join('\n'),
  );
});

test('a failure and a held loop are allowed where they were seen', () => {
  const text = testText({ trace_id: 't1', spans: [span({ error: true, tags: [['loop.blocked', '240.2']] })] });
  assert.match(text, /max_blocked_ms\(241\)/);
  assert.doesNotMatch(text, /no_failed|max_awaiting/);
});

test('what an agent has written cannot become code', () => {
  const text = testText({ trace_id: 'x\nimport os', spans: [span({ operation: '"""\n\u2028import os', service: 'a\r\nb' })] });
  assert.equal(text.split(/[\n\r\u2028]/).length, 8);
  assert.match(text, /^def test_import_os\(trace\):\n {4}# """\?\?import os of a\?\?b took 3.17 s in trace x\?import os\n/);
});
