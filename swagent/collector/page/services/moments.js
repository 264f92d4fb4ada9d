// The moment that splits time: marked by hand, or the start of a process.
import { html, useState } from '../frame/view.js';
import { address, useResource } from '../frame/api.js';
import { moment } from '../parts/format.js';
import { Select } from '../parts/fields.js';
import { go, link } from '../frame/route.js';
import { useKeys } from '../frame/keys.js';
import { addMark, marks } from './marks.js';

const MOST_STARTS = 12;

// when agents say that they have started; the end of the event is when they were ready
export function startsOf(events) {
  return events
    .filter(each => each.name === 'Start')
    .map(each => ({ time: each.end || each.time, service: each.service }))
    .sort((one, other) => other.time - one.time);
}

export const momentText = (at, starts) => {
  const start = starts.find(each => each.time === at);
  return start ? `Start of ${start.service}, ${moment(at, false)}` : `Mark, ${moment(at, false)}`;
};

export function useStarts() {
  const { data } = useResource(address('events'), 5000);
  return startsOf(data?.events ?? []);
}

export function Moments({ query }) {
  const starts = useStarts();
  const [marked, setMarked] = useState(marks);
  const to = at => link(['services'], { ...query, at, sort: '' });
  const mark = () => {
    const now = Date.now();
    addMark(now);
    setMarked(marks());
    go(to(now));
  };
  useKeys({ m: mark });
  const times = [...new Set([...marked, ...starts.slice(0, MOST_STARTS).map(each => each.time)])];
  const options = times.map(time => [String(time), momentText(time, starts)]);
  if (query.at && !times.includes(Number(query.at))) options.unshift([query.at, momentText(Number(query.at), starts)]);
  return html`
    <${Select}
      label="Before and after"
      hint="Compare the calls before a moment with those after it"
      value=${query.at ?? ''}
      options=${[['', 'Before and after …'], ...options]}
      onChange=${at => go(to(at))}
      roomy=${true}
    />
    <button type="button" class="toggle" onClick=${mark} title="Compare what comes from now on with what was before (m)">
      Mark now
    </button>
  `;
}
