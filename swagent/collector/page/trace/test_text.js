// A trace as a test with budgets, for the fixture `trace` of pytest; pure.
import { BLOCKED, millisOf } from './loop_blocks.js';
import { duration } from '../parts/format.js';

const LEAST_BLOCKED = 100; // milliseconds: shorter ones are the machine's as often as the code's
const ROOM = 2; // times the wait that was seen, since a test runs elsewhere

export function testText({ trace_id: id, spans }) {
  const head = spans[0];
  const own = spans.filter(span => span.service === head.service);
  const budgets = [
    `trace.max_queries(${own.filter(isQuery).length})`,
    'trace.no_n_plus_one()',
    `trace.max_blocked_ms(${Math.max(LEAST_BLOCKED, ...own.map(span => Math.ceil(millisOf(span, BLOCKED))))})`,
  ];
  const awaited = millisOf(head, 'time.awaiting');
  if (awaited > 0) budgets.push(`trace.max_awaiting_ms(${roundUp(awaited * ROOM)})`);
  if (!own.some(span => span.error)) budgets.push('trace.no_failed()');
  return [
    `def test_${nameOf(head.operation)}(trace):`,
    `    # ${line(head.operation)} of ${line(head.service)} took ${duration(head.end - head.start)} in trace ${line(id)}`,
    '    ...  # send it to the application in this process',
    ...budgets.map(each => `    ${each}`),
    '',
  ].join('\n');
}

const isQuery = span => span.kind === 'exit' && span.layer === 'Database';

// what another one has written is no code here
const line = text => text.replace(/[^\x20-\x7e]/g, '?').slice(0, 120);

const nameOf = operation => operation.toLowerCase().replace(/[^a-z0-9]+/g, '_').replace(/^_|_$/g, '').slice(0, 60) || 'request';

function roundUp(ms) {
  const step = 10 ** Math.max(Math.floor(Math.log10(ms)) - 1, 1);
  return Math.ceil(ms / step) * step;
}
