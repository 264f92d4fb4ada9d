// The log lines of every service, the newest first.
import { html, useRef } from '../frame/view.js';
import { address, useResource } from '../frame/api.js';
import { Icon } from '../parts/icons.js';
import { useList } from '../frame/list.js';
import { useListView } from '../frame/list_view.js';
import { LogDetails, LogRow } from './log_rows.js';
import { LogTimes, useTimes } from './log_times.js';
import { plural } from '../parts/format.js';
import { ListNews } from '../parts/list_news.js';
import { Clear, Note, Panel } from '../parts/parts.js';
import { Select, Text } from '../parts/fields.js';
import { scrolled, usePlace } from '../frame/places.js';
import { go, link, replace } from '../frame/route.js';
import { useWide } from '../frame/theme.js';
import { VirtualList } from '../frame/virtual.js';

const PAGE = { rows: 'logs', id: log => log.id, limit: 100 };
const LEVELS = ['DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL'];

function Nothing({ searched }) {
  return searched
    ? html`
        <${Note} title="No log line matches">
          <p>
            Search for less, or <a href="#/logs">show all log lines</a>.
          </p>
        <//>
      `
    : html`
        <${Note} title="No log line has arrived yet">
          <p>swagent reports WARNING and above, unless a setting says otherwise.</p>
        <//>
      `;
}

export function Logs({ query }) {
  const { id: chosenId, ...filters } = query;
  const { last: _, ...others } = filters;
  const times = useTimes(filters);
  const box = useRef(null);
  const place = usePlace(link(['logs'], filters), () => ({
    list: list.keep(),
    active: activeId,
    top: scrolled(box),
  }));
  const list = useList('logs', { ...others, ...times }, PAGE, place?.list);
  const { items } = list;
  const wide = useWide();
  const listed = items.find(each => String(each.id) === chosenId);
  // a link to a line that is not on the page, or beyond it
  const apart = useResource(chosenId && !listed && !list.loading ? address(`logs/${encodeURIComponent(chosenId)}`) : null);
  const chosen = listed ?? (chosenId ? apart.data : null);
  const set = changes => replace(link(['logs'], { ...query, ...changes }));
  const choose = log => {
    if (log) setActiveId(log.id);
    set({ id: log ? String(log.id) : '' });
  };
  const { active, activeId, setActiveId, toTop } = useListView({
    items,
    id: PAGE.id,
    box,
    row: '.log-row.active .log-open',
    kept: chosenId ?? place?.active,
    used: 'a, button:not(.log-open)',
    onStep: log => {
      if (chosen && wide) set({ id: log.id });
    },
    onTop: list.release,
    onOpen: choose,
    onClose: () => {
      if (chosenId) choose(null);
      return Boolean(chosenId);
    },
    onEscape: () => go('#/logs'),
  });
  const height = wide ? 34 : 56;
  const row = (log, index) => html`
    <${LogRow}
      key=${log.id}
      log=${log}
      index=${index}
      height=${height}
      active=${index === active}
      chosen=${log === chosen}
      onChoose=${() => choose(log === chosen ? null : log)}
    />
  `;
  return html`
    <div class="view logs" ref=${box}>
      <header class="view-head">
        <h1>Logs</h1>
        <p class="total" role="status">${list.key && !list.loading ? plural(list.total ?? 0, 'line') : ''}</p>
        <${Clear} view="logs" filters=${filters} />
      </header>
      <${Filters} query=${query} set=${set} />
      <${ListNews} list=${list} error=${list.error} limit=${PAGE.limit} noun="line" onShow=${toTop} />
      <div class="split">
        ${
          items.length === 0 && !list.loading && !list.error
            ? html`
                <${Nothing} searched=${Object.keys(filters).length > 0} />
              `
            : html`
                <${VirtualList}
                  className=${`log-list ${list.loading ? 'waiting' : ''}`}
                  items=${items}
                  rowHeight=${height}
                  row=${row}
                  active=${active}
                  top=${place?.top}
                  onEnd=${list.more}
                  onTop=${list.follow}
                  onHold=${list.hold}
                  label="Log lines"
                />
              `
        }
        ${
          (chosen || apart.error) &&
          html`
            <${Panel} title="Log line" onClose=${() => choose(null)}>
              ${
                chosen
                  ? html`
                      <${LogDetails} key=${chosen.id} log=${chosen} />
                    `
                  : html`
                      <p class="quiet">This line is not kept: it has made room for newer ones, or never came.</p>
                    `
              }
            <//>
          `
        }
      </div>
    </div>
  `;
}

function Filters({ query, set }) {
  const { data } = useResource(address('services'), 3000);
  const names = (data?.services ?? []).map(each => each.name);
  return html`
    <form class="filters" role="search" aria-label="Search log lines" onSubmit=${event => event.preventDefault()}>
      <${Text}
        label="Text in log lines"
        placeholder="Text"
        search=${true}
        value=${query.q ?? ''}
        onChange=${q => set({ q })}
      />
      <${Select}
        label="Service"
        value=${query.service ?? ''}
        options=${[['', 'All services'], ...names.map(name => [name, name])]}
        onChange=${service => set({ service })}
      />
      <${Select}
        label="Level"
        value=${query.level ?? ''}
        options=${[['', 'Every level'], ...LEVELS.map(level => [level, level])]}
        onChange=${level => set({ level })}
      />
      <${LogTimes} query=${query} set=${set} />
      ${
        query.trace_id &&
        html`
          <button type="button" class="toggle on" onClick=${() => set({ trace_id: '' })}>
            trace ${query.trace_id.slice(0, 12)}…
            <${Icon} name="close" size=${12} />
          </button>
        `
      }
    </form>
  `;
}
