// Two traces as one tree: A is what B is measured by. Both are in the address.
import { html, useMemo, useRef } from '../frame/view.js';
import { address, useResource } from '../frame/api.js';
import { Icon } from '../parts/icons.js';
import { duration, moment, plural } from '../parts/format.js';
import { Loaded, Service } from '../parts/parts.js';
import { go, link, toList } from '../frame/route.js';
import { useKeys } from '../frame/keys.js';
import { useListView } from '../frame/list_view.js';
import { useWide } from '../frame/theme.js';
import { VirtualList } from '../frame/virtual.js';
import { Chooser } from './chooser.js';
import { Head, Row, difference } from './compare_row.js';
import { align, changes, from, took } from './match.js';

const MOST_CHANGES = 4;

export function Compare({ first, second, query }) {
  if (!first) return null;
  return second
    ? html`
        <${Pair} first=${first} second=${second} key=${`${first} ${second}`} />
      `
    : html`
        <${Chooser} id=${first} query=${query} key=${first} />
      `;
}

function Pair({ first, second }) {
  const a = useResource(address(`traces/${encodeURIComponent(first)}`), 5000);
  const b = useResource(address(`traces/${encodeURIComponent(second)}`), 5000);
  const back = () => go(link(['traces', second]));
  useKeys({ Escape: back });
  const resource = {
    data: a.data && b.data ? { a: a.data, b: b.data } : null,
    error: a.error ?? b.error,
  };
  return html`
    <div class="view compare">
      <${Loaded}
        resource=${resource}
        way=${html`
          <p><button type="button" class="toggle" onClick=${toList}>Back to the traces</button></p>
        `}
      >
        ${data => html`
          <${Content} a=${data.a} b=${data.b} onBack=${back} />
        `}
      <//>
    </div>
  `;
}

function Content({ a, b, onBack }) {
  const box = useRef(null);
  const [inA, inB] = useMemo(() => parts(a.spans, b.spans), [a, b]);
  const rows = useMemo(() => align(inA, inB), [inA, inB]);
  const where = useMemo(() => changes(inA, inB), [inA, inB]);
  const most = useMemo(() => Math.max(1, ...rows.map(each => Math.max(took(each.a), took(each.b)))), [rows]);
  const onlyA = rows.filter(each => each.b === null).length;
  const onlyB = rows.filter(each => each.a === null).length;
  const wide = useWide('(min-width: 900px)');
  const height = wide ? 34 : 58;
  const { active, setActiveId } = useListView({
    items: rows,
    id: pairId,
    box,
    row: '.pair-row.active',
    onOpen: row =>
      go(row.b ? link(['traces', b.trace_id], { span: row.b.id }) : link(['traces', a.trace_id], { span: row.a.id })),
  });
  return html`
    <header class="trace-top">
      <button type="button" class="plain" onClick=${onBack} aria-label="Back to B (Esc)" title="Back to B (Esc)">
        <${Icon} name="back" />
      </button>
      <div class="trace-title">
        <h1 dir="auto">${inB[0]?.operation || '(unnamed)'}</h1>
        <ul class="sides">
          <${Side} name="A" trace=${a} root=${inA[0]} />
          <${Side} name="B" trace=${b} root=${inB[0]} />
          <li>
            <b class="number">${difference(took(inB[0] ?? null) - took(inA[0] ?? null))}</b>
            <a class="swap" href=${link(['compare', b.trace_id, a.trace_id])}>Exchange A and B</a>
          </li>
        </ul>
        <${Where} changes=${where} />
        <p class="facts">
          ${plural(rows.length - onlyA - onlyB, 'span')} in both,
          ${' '}${plural(onlyA, 'span')} only in A, ${plural(onlyB, 'span')} only in B
          ${(a.left_out > 0 || b.left_out > 0) && '; of a very long trace the end is left out'}
        </p>
      </div>
    </header>
    <div class="split" ref=${box}>
      <${VirtualList}
        className="pair-list"
        items=${rows}
        rowHeight=${height}
        row=${(row, index) => html`
          <${Row}
            key=${pairId(row)}
            row=${row}
            index=${index}
            height=${height}
            active=${index === active}
            most=${most}
            ids=${[a.trace_id, b.trace_id]}
            onChoose=${() => setActiveId(pairId(row))}
          />
        `}
        active=${active}
        label="Spans of both traces"
        head=${
          wide &&
          html`
            <${Head} />
          `
        }
      />
    </div>
  `;
}

const pairId = row => `${row.a?.id ?? ''} ${row.b?.id ?? ''}`;

// where one trace calls the endpoint with which the other begins, that call is what is compared
function parts(ofA, ofB) {
  if (ofA.length === 0 || ofB.length === 0) return [ofA, ofB];
  const inA = from(ofA, ofB[0]);
  return [inA, inA.length === ofA.length ? from(ofB, ofA[0]) : ofB];
}

function Side({ name, trace, root }) {
  const inside = root && root.id !== trace.spans[0].id;
  return html`
    <li>
      <b class=${`side ${name === 'A' ? 'one' : 'other'}`}>${name}</b>
      <a href=${link(['traces', trace.trace_id])} title=${trace.trace_id}>
        <span class="number">${duration(took(root ?? null))}</span>, ${moment(trace.start, false)}
      </a>
      ${
        inside &&
        html`
          <span class="quiet">within ${trace.spans[0].operation || '(unnamed)'}</span>
        `
      }
      ${
        root &&
        html`
          <${Service} name=${root.service} quiet=${true} />
        `
      }
    </li>
  `;
}

// the operations whose time differs most: a reader looks first for where the time went
function Where({ changes: found }) {
  if (found.length === 0) return null;
  return html`
    <ul class="where-differs" aria-label="Where the own time differs most">
      ${found.slice(0, MOST_CHANGES).map(
        each => html`
          <li class=${each.by > 0 ? 'slower' : 'faster'}>
            <b class="number">${difference(each.by)}</b>
            <span class="where-name" dir="auto" title=${`${each.operation} in ${each.service}`}>
              ${each.operation || '(unnamed)'}
            </span>
            <span class="quiet">${each.service}</span>
            ${
              each.a !== each.b &&
              html`
                <span class="number quiet">×${each.a} → ×${each.b}</span>
              `
            }
          </li>
        `,
      )}
    </ul>
  `;
}
