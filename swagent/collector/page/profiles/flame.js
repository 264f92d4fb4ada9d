// A flame graph: what called what from above to below, as wide as it took, and the state at the ends.
import { html, useEffect, useMemo, useRef, useState } from '../frame/view.js';
import { duration, plural, short } from '../parts/format.js';
import { CallTable } from './call_table.js';
import { byKey, fold, grow, lay, own, sizeOf, STATES } from './flame_layout.js';

const ROW = 23;
const WORDS = { running: 'running', ready: 'ready, loop busy', awaiting: 'awaiting' };

// `look`: what of the address is about it, { at, as, calls }; `onLook` changes it
export function Flame({ nodes, leftOut = 0, look, onLook }) {
  const grown = useMemo(() => grow(nodes), [nodes]);
  const roots = useMemo(() => (look.calls === 'all' ? grown : fold(grown)), [grown, look.calls]);
  const asTable = look.as === 'table';
  return html`
    <div class="flame">
      <${Split} roots=${own(roots)} />
      <div class="flame-tools">
        <${Choice} on=${!asTable} text="Flame graph" onChoose=${() => onLook({ as: '' })} />
        <${Choice} on=${asTable} text="Table" onChoose=${() => onLook({ as: 'table' })} />
        <${Choice}
          on=${look.calls === 'all'}
          text="Calls inside libraries"
          onChoose=${() => onLook({ calls: look.calls === 'all' ? '' : 'all', at: '' })}
        />
      </div>
      ${
        asTable
          ? html`
              <${CallTable} roots=${roots} all=${look.calls === 'all'} />
            `
          : html`
              <${Graph} roots=${roots} at=${look.at} onZoom=${call => onLook({ at: call?.key ?? '' })} />
            `
      }
      ${
        leftOut > 0 &&
        html`
          <p class="quiet">${plural(leftOut, 'rare call')} left out.</p>
        `
      }
    </div>
  `;
}

function Choice({ on, text, onChoose }) {
  return html`
    <button
      type="button"
      class=${`toggle small ${on ? 'on' : ''}`}
      aria-pressed=${on ? 'true' : 'false'}
      onClick=${onChoose}
    >
      ${text}
    </button>
  `;
}

// how the time divides: the answer to the first question
function Split({ roots }) {
  const total = sizeOf(roots);
  const sums = STATES.map(state => [state, roots.reduce((sum, each) => sum + each.split[state], 0)]);
  const found = sums.filter(([, size]) => size > 0);
  if (found.length === 0) return null;
  return html`
    <div class="flame-split">
      <div class="split-bar" aria-hidden="true">
        ${found.map(
          ([state, size]) => html`
            <i class=${`in-${state}`} style=${{ flexGrow: size }}></i>
          `,
        )}
      </div>
      <ul class="split-legend" aria-label="How the time divides">
        ${found.map(
          ([state, size]) => html`
            <li>
              <i class=${`in-${state}`} aria-hidden="true"></i>
              ${WORDS[state]} <b class="number">${duration(size)}</b>${' '}
              <span class="of">${share(size, total)}</span>
            </li>
          `,
        )}
      </ul>
    </div>
  `;
}

export const share = (size, total) => {
  const value = (size / Math.max(1, total)) * 100;
  return value > 0 && value < 1 ? '< 1 %' : `${Math.round(value)} %`;
};

function Graph({ roots, at, onZoom }) {
  const box = useRef(null);
  const chosen = useMemo(() => byKey(roots, at), [roots, at]);
  const { bars, levels, total } = useMemo(() => lay(roots, chosen), [roots, chosen]);
  const [activeKey, setActive] = useState(null);
  const [pointed, setPointed] = useState(null);
  const whole = sizeOf(own(roots));
  const active = bars.find(each => each.call.key === activeKey) ?? bars.find(each => each.call === chosen) ?? bars[0];
  const shown = bars.find(each => each.call.key === pointed) ?? active;
  const movingTo = useRef(null); // where the focus is to go, once that is drawn as the active one
  useEffect(() => {
    if (movingTo.current === null || movingTo.current !== active?.call.key) return;
    movingTo.current = null;
    const target = box.current.querySelector('[tabindex="0"]');
    target.focus({ preventScroll: true });
    target.scrollIntoView({ block: 'nearest' });
  });
  const activate = key => {
    movingTo.current = key;
    setActive(key);
  };
  const move = bar => {
    if (bar) activate(bar.call.key);
  };
  const zoom = call => {
    activate((call ?? roots[0]).key);
    onZoom(call === chosen || (!call?.parent && roots.length === 1) ? null : call);
  };
  const beside = by => {
    const level = bars.filter(each => each.level === active.level);
    return level[level.indexOf(active) + by];
  };
  const keys = {
    ArrowDown: () => move(bars.find(each => each.call.parent === active.call)),
    ArrowUp: () => move(bars.find(each => each.call === active.call.parent)),
    ArrowLeft: () => move(beside(-1)),
    ArrowRight: () => move(beside(1)),
    Home: () => move(bars[0]),
    Enter: () => zoom(active.call),
    ' ': () => zoom(active.call),
    Escape: () => zoom(chosen.parent),
  };
  const press = event => {
    if (!keys[event.key] || (event.key === 'Escape' && !chosen) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation(); // what is around it has arrows of its own
    keys[event.key]();
  };
  if (bars.length === 0) return null;
  return html`
    <div class="flame-scroll" ref=${box}>
      <div
        class="flame-bars"
        role="tree"
        aria-label="Calls, the outermost first"
        style=${{ height: `${levels * ROW}px` }}
        onKeyDown=${press}
        onPointerLeave=${() => setPointed(null)}
      >
        ${bars.map(
          bar => html`
            <${Bar}
              key=${bar.call.key}
              bar=${bar}
              active=${bar === active}
              label=${describe(bar.call, whole)}
              onChoose=${() => zoom(bar.call)}
              onPoint=${() => setPointed(bar.call.key)}
              onFocus=${() => setActive(bar.call.key)}
            />
          `,
        )}
      </div>
    </div>
    <p class="flame-shown" aria-hidden="true">
      <b dir="auto">${shown.call.name}</b>
      <span class="number">
        ${duration(shown.call.ms)}, ${share(shown.call.size, whole)}${chosen ? `, ${share(shown.call.size, total)} of what is shown` : ''} · ${plural(shown.call.count, 'stack')}
      </span>
      <span>${states(shown.call)}</span>
    </p>
  `;
}

function Bar({ bar, active, label, onChoose, onPoint, onFocus }) {
  const { call, left, width, level, above } = bar;
  const total = Math.max(1, call.size);
  const colouring = call.state ? `in-${call.state}` : call.library ? 'of-library' : 'of-application';
  return html`
    <div
      class=${`flame-bar ${colouring} ${above ? 'above' : ''}`}
      role="treeitem"
      tabindex=${active ? 0 : -1}
      aria-level=${level + 1}
      aria-label=${label}
      style=${{ left: `${left}%`, width: `${width}%`, top: `${level * ROW}px` }}
      onClick=${onChoose}
      onPointerEnter=${onPoint}
      onFocus=${onFocus}
    >
      <span class="long" dir="auto">${call.name}</span>
      <span class="brief" dir="auto">${brief(call)}</span>
      ${
        !call.state &&
        html`
          <i class="flame-states" aria-hidden="true">
            ${STATES.filter(state => call.split[state] > 0).map(
              state => html`
                <i class=${`in-${state}`} style=${{ width: `${(call.split[state] / total) * 100}%` }}></i>
              `,
            )}
          </i>
        `
      }
    </div>
  `;
}

// where there is little room: the function without its module, and of a state what is awaited
function brief({ name, state, folded, depth }) {
  if (folded) return '…';
  if (state) return name.replace(/^\[awaiting /, '[');
  return depth === 0 ? name : name.split('.').at(-1);
}

function states(call) {
  return STATES.filter(state => call.split[state] > 0)
    .map(state => `${WORDS[state]} ${duration(call.split[state])}`)
    .join(', ');
}

function describe(call, whole) {
  const inside = call.state ? '' : states(call);
  return `${call.name}, ${duration(call.ms)}, ${share(call.size, whole)}, ${short(call.count)} stacks${inside && `, ${inside}`}`;
}
