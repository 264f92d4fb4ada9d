// The list of traces, newest first, with its search.
import { html, useEffect, useMemo, useRef, useState } from './view.js';
import { TraceFilters, filtersOf } from './trace_filters.js';
import { colourClass } from './colours.js';
import { Icon } from './icons.js';
import { Scatter } from './scatter.js';
import { count, clock, duration, moment, plural } from './format.js';
import { go, link } from './route.js';
import { useKeys } from './keys.js';
import { useList } from './list.js';
import { useWide } from './theme.js';
import { Note, Service } from './parts.js';
import { VirtualList, placed } from './virtual.js';

const PAGE = { rows: 'traces', id: trace => trace.trace_id, limit: 200 };

export function Traces({ query }) {
  const list = useList('traces', filtersOf(query), PAGE);
  const wide = useWide();
  const [activeId, setActiveId] = useState(null);
  const box = useRef(null);
  const { items } = list;
  const active = useMemo(() => items.findIndex(each => each.trace_id === activeId), [items, activeId]);
  const scale = useMemo(() => Math.log1p(Math.max(1, ...items.map(each => each.duration))), [items]);
  const step = by => {
    const next = active < 0 ? (by > 0 ? 0 : -1) : Math.min(items.length - 1, Math.max(0, active + by));
    if (next >= 0 && items[next]) setActiveId(items[next].trace_id);
  };
  const toTop = () => {
    box.current.querySelector('.virtual').scrollTop = 0;
  };
  useKeys({
    j: () => step(1),
    k: () => step(-1),
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    g: toTop,
    Enter: event => {
      if (event.target instanceof HTMLElement && event.target.closest('a, button')) return false;
      const chosen = items[active] ?? (items.length === 1 ? items[0] : null);
      if (chosen) go(link(['traces', chosen.trace_id]));
      return true;
    },
    Escape: () => {
      if (activeId) setActiveId(null);
      else go('#/traces');
    },
  });
  useEffect(() => {
    box.current.querySelector('.trace-row.active')?.focus({ preventScroll: true });
  }, [active]);
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
    />
  `;
  return html`
    <div class="view traces" ref=${box}>
      <header class="view-head">
        <h1>Traces</h1>
        <p class="total" role="status">
          ${list.key && !list.loading ? `${count(list.total)}${list.exact ? '' : '+'} ${list.total === 1 ? 'trace' : 'traces'}` : ''}
        </p>
      </header>
      <${TraceFilters} query=${query} />
      ${
        items.length > 0 &&
        html`
          <${Scatter} traces=${items} query=${query} />
        `
      }
      ${
        list.error &&
        html`
          <${Note} title="The list may be out of date" kind="error"><p>${list.error.message}</p><//>
        `
      }
      ${
        list.fresh > 0 &&
        html`
          <button class="fresh" type="button" onClick=${toTop}>
            <${Icon} name="up" size=${14} />
            ${list.fresh >= PAGE.limit ? `${PAGE.limit}+ new traces` : plural(list.fresh, 'new trace')}
          </button>
        `
      }
      ${
        items.length === 0 && !list.loading && !list.error
          ? html`
              <${Note} title="No trace matches">
                <p>
                  Search fewer words, or <a href="#/traces">show all traces</a>.
                </p>
              <//>
            `
          : html`
              <${VirtualList}
                className=${`trace-list ${list.loading ? 'waiting' : ''}`}
                items=${items}
                rowHeight=${height}
                row=${row}
                active=${active}
                onEnd=${list.more}
                onTop=${list.follow}
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
  `;
}

function Head() {
  return html`
    <div class="trace-head" aria-hidden="true">
      <span>Started</span>
      <span>Duration</span>
      <span>Endpoint</span>
      <span>Services</span>
      <span class="number">Spans</span>
    </div>
  `;
}

function Row({ trace, scale, index, height, active, wide, total }) {
  const others = trace.services.filter(name => name !== trace.service);
  const errors = trace.errors > 0;
  const long = moment(trace.start);
  const label = `${trace.endpoint || 'unnamed'} in ${trace.service}, ${duration(trace.duration)}${errors ? `, ${plural(trace.errors, 'error')}` : ''}, ${long}`;
  return html`
    <div
      role="listitem"
      aria-setsize=${total ?? -1}
      aria-posinset=${index + 1}
      class="row-box"
      style=${placed(index, height)}
    >
      <a
        class=${`trace-row ${active ? 'active' : ''} ${errors ? 'failed' : ''}`}
        href=${link(['traces', trace.trace_id])}
        aria-label=${label}
      >
        <time class="when" title=${long}>${wide ? clock(trace.start) : clock(trace.start, false)}</time>
        <span class="took">
          <b>${duration(trace.duration)}</b>
          <i class="took-bar" aria-hidden="true">
            <i style=${{ width: `${Math.max(2, (Math.log1p(trace.duration) / scale) * 100)}%` }}></i>
          </i>
        </span>
        <span class="what">
          <span class="endpoint" title=${trace.endpoint}>${trace.endpoint || '(unnamed)'}</span>
          ${
            errors &&
            html`
              <span class="badge error">${plural(trace.errors, 'error')}</span>
            `
          }
          ${
            trace.has_logs &&
            html`
              <span class="has-logs" title="has log lines"><${Icon} name="logs" size=${13} /></span>
            `
          }
        </span>
        <span class="who">
          <${Service} name=${trace.service} />
          ${
            others.length > 0 &&
            html`
              <span class="others" title=${others.join(', ')}>
                ${others.slice(0, 9).map(
                  name => html`
                    <i class=${`dot ${colourClass(name)}`} aria-hidden="true"></i>
                  `,
                )}
              </span>
            `
          }
        </span>
        <span class="spans number">
          ${count(trace.spans)}
        </span>
      </a>
    </div>
  `;
}
