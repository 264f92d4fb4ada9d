// The attributes that the traces in a box of the heatmap have more often than the others.
import { html } from '../frame/view.js';
import { address, useResource } from '../frame/api.js';
import { count, duration, moment, percent, plural } from '../parts/format.js';
import { link } from '../frame/route.js';
import { Loaded, Panel } from '../parts/parts.js';
import { spanText } from './heatmap.js';
import { addTerm } from './query_text.js';

const SLOWEST = 5;
const SIDES = ['from', 'to', 'min_ms', 'max_ms'];

// in the address: `box=FROM-TO-MIN-MAX`
export const boxText = limits => SIDES.map(each => limits[each]).join('-');

export function readBox(text) {
  const numbers = (text ?? '').split('-').map(Number);
  if (numbers.length !== SIDES.length || numbers.some(each => !Number.isSafeInteger(each))) return null;
  return Object.fromEntries(SIDES.map((side, index) => [side, numbers[index]]));
}

export function Differences({ filters, query, box, onClose }) {
  const { sort: _, ...asked } = filters;
  const sides = Object.fromEntries(SIDES.map(side => [`box_${side}`, box[side]]));
  const found = useResource(address('differences', { ...asked, ...sides }), 60_000);
  const only = link(['traces'], { ...query, ...box, last: '', box: '' });
  return html`
    <${Panel} title="What differs in the box" onClose=${onClose}>
      <p class="box-span">${spanText(box)}</p>
      <p class="links"><a class="toggle" href=${only}>Show only these traces</a></p>
      <${Loaded} resource=${found}>
        ${answer => html`
          <${Found} answer=${answer} query=${query} />
        `}
      <//>
      <${Slowest} asked=${asked} box=${box} />
    <//>
  `;
}

function Found({ answer, query }) {
  const { inside, outside, differences } = answer;
  if (inside === 0) return html`<p class="quiet">The traces in this box are no longer kept, or no longer match.</p>`;
  if (outside === 0)
    return html`<p class="quiet">All traces that match are in the box. There is nothing to compare them with.</p>`;
  return html`
    <p class="compared">
      <b>${plural(inside, 'trace')}</b> here, compared with ${count(outside)} others that match.
    </p>
    ${
      differences.length === 0
        ? html`
            <p class="quiet">Nothing is clearly more frequent here than elsewhere.</p>
          `
        : html`
            <ol class="differences" aria-label="What differs, the greatest difference first">
              ${differences.map(each => html`<${Difference} key=${each.term} each=${each} query=${query} />`)}
            </ol>
          `
    }
  `;
}

function Difference({ each, query }) {
  const href = link(['traces'], { ...query, q: addTerm(query.q, each.term), box: '' });
  const shares = `${percent(each.share_inside)} of these, ${percent(each.share_outside)} of the others`;
  return html`
    <li>
      <a class="difference" href=${href} aria-label=${`${each.term}: ${shares}. Add to the query`}>
        <span class="difference-name">
          <span class="difference-kind">${each.key || each.kind}</span>
          <b dir="auto">${each.value || '(empty)'}</b>
        </span>
        <span class="two-shares" aria-hidden="true">
          <i class="share inside"><i style=${{ width: `${each.share_inside * 100}%` }}></i></i>
          <span class="number">${percent(each.share_inside)}</span>
          <i class="share"><i style=${{ width: `${each.share_outside * 100}%` }}></i></i>
          <span class="number quiet">${percent(each.share_outside)}</span>
        </span>
      </a>
    </li>
  `;
}

// the filters of the traces in a box
export const within = (filters, box) => ({
  ...filters,
  from: Math.max(Number(filters.from ?? 0), box.from),
  to: Math.min(Number(filters.to ?? box.to), box.to),
  min_ms: Math.max(Number(filters.min_ms ?? 0), box.min_ms),
  max_ms: Math.min(Number(filters.max_ms ?? box.max_ms), box.max_ms),
});

// the way from the box to its traces
function Slowest({ asked, box }) {
  const narrowed = within(asked, box);
  const { data } = useResource(address('traces', { ...narrowed, sort: 'slowest', limit: SLOWEST }), 60_000);
  if (!data?.traces.length) return null;
  return html`
    <h3>Slowest in the box</h3>
    <ul class="slowest">
      ${data.traces.map(
        trace => html`
          <li key=${trace.trace_id}>
            <a href=${link(['traces', trace.trace_id])}>
              <b class="number">${duration(trace.duration)}</b>
              <span class="endpoint" dir="auto">${trace.endpoint || '(unnamed)'}</span>
              <time>${moment(trace.start, false)}</time>
            </a>
          </li>
        `,
      )}
    </ul>
  `;
}
