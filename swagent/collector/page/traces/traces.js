// The list of traces, newest first, with its search.
import { html, useMemo, useRef, useState } from '../frame/view.js';
import { TraceFilters, filtersOf } from './trace_filters.js';
import { ExportList } from '../exchange/export_link.js';
import { plainText, words } from './query_text.js';
import { scrolled, usePlace } from '../frame/places.js';
import { count } from '../parts/format.js';
import { go, link, replace } from '../frame/route.js';
import { useList } from '../frame/list.js';
import { useListView } from '../frame/list_view.js';
import { useWide } from '../frame/theme.js';
import { ListNews } from '../parts/list_news.js';
import { Clear, Note, sentence } from '../parts/parts.js';
import { VirtualList } from '../frame/virtual.js';
import { boxText, Differences, readBox, within } from './differences.js';
import { Heatmap } from './heatmap.js';
import { Head, Row } from './trace_row.js';

const PAGE = { rows: 'traces', id: trace => trace.trace_id, limit: 200 };

function Nothing({ searched, text }) {
  return searched
    ? html`
        <${Note} title="No trace matches">
          <p>
            Search for less, or <a href="#/traces">show all traces</a>.
          </p>
          ${
            text &&
            html`
              <p>
                Look for it in the <a href=${link(['errors'], { q: text })}>errors</a>, or in the${' '}
                <a href=${link(['logs'], { q: text })}>logs</a>.
              </p>
            `
          }
        <//>
      `
    : html`
        <${Note} title="No trace has arrived yet">
          <p>Agents report here, but no request was traced so far. The first trace appears by itself.</p>
        <//>
      `;
}

function totalWords({ key, loading, error, total, exact }) {
  if (!key || loading || error) return '';
  return `${count(total)}${exact ? '' : '+'} ${total === 1 ? 'trace' : 'traces'}`;
}

// why the collector cannot read the query, and where
function unreadable(error) {
  return error?.status === 400 && error.message.startsWith('q, ') ? sentence(error.message.slice(3)) : null;
}

export function Traces({ query }) {
  const box = useRef(null);
  const opened = useRef(null);
  const place = usePlace(link(['traces'], query), () => ({
    list: list.keep(),
    active: opened.current ?? activeId,
    top: scrolled(box),
  }));
  const [draft, setDraft] = useState({ text: '', query: null }); // of the query, while it is typed
  const isOpen = draft.query !== null && draft.text.trim() === query.q;
  const filters = filtersOf(isOpen ? { ...query, q: draft.query } : query);
  const chosen = readBox(query.box);
  const list = useList('traces', chosen ? within(filters, chosen) : filters, PAGE, place?.list);
  const unread = unreadable(list.error);
  const closeBox = () => replace(link(['traces'], { ...query, box: '' }));
  const wide = useWide();
  const { items } = list;
  const scale = useMemo(() => Math.log1p(Math.max(1, ...items.map(each => each.duration))), [items]);
  const { active, activeId, toTop } = useListView({
    items,
    id: PAGE.id,
    box,
    row: '.trace-row.active',
    kept: place?.active,
    onTop: list.release,
    onOpen: trace => go(link(['traces', trace.trace_id])),
    onClose: () => {
      if (chosen) closeBox();
      return Boolean(chosen);
    },
    onEscape: () => go('#/traces'),
  });
  const height = wide ? 40 : 62;
  const row = (trace, index) => html`
    <${Row}
      key=${trace.trace_id}
      trace=${trace}
      scale=${scale}
      index=${index}
      height=${height}
      active=${index === active}
      wide=${wide}
      total=${list.total}
      onOpen=${() => {
        opened.current = trace.trace_id;
      }}
    />
  `;
  return html`
    <div class="view traces" ref=${box}>
      <header class="view-head">
        <h1>Traces</h1>
        <p class="total" role="status">
          ${totalWords(list)}${isOpen && ` of ${words(draft.query).at(-1)}`}
        </p>
        <${Clear} view="traces" filters=${query} />
        <${ExportList} filters=${filtersOf(query)} />
      </header>
      <${TraceFilters} query=${query} error=${unread} onOpen=${(text, meant) => setDraft({ text, query: meant })} />
      <div class="split">
      <div class="traces-main">
      ${
        (items.length > 0 || chosen) &&
        html`
          <${Heatmap}
            filters=${filters}
            box=${chosen}
            onBox=${limits => go(link(['traces'], { ...query, box: boxText(limits) }))}
          />
        `
      }
      <${ListNews} list=${list} error=${unread ? null : list.error} limit=${PAGE.limit} noun="trace" onShow=${toTop} />
      ${
        items.length === 0 && !list.loading && !list.error
          ? html`
              <${Nothing} searched=${Object.keys(query).length > 0} text=${plainText(query.q ?? '')} />
            `
          : html`
              <${VirtualList}
                className=${`trace-list ${list.loading ? 'waiting' : ''}`}
                items=${items}
                rowHeight=${height}
                row=${row}
                active=${active}
                top=${place?.top}
                onEnd=${list.more}
                onTop=${list.follow}
                onHold=${list.hold}
                label="Traces"
                head=${
                  wide &&
                  html`
                    <${Head} />
                  `
                }
              />
            `
      }
      </div>
      ${
        chosen &&
        html`
          <${Differences} key=${query.box} filters=${filters} query=${query} box=${chosen} onClose=${closeBox} />
        `
      }
      </div>
    </div>
  `;
}
