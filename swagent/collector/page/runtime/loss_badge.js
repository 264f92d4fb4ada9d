// On a trace: what the processes of its services lost at that time. Where something is missing, this may be why.
import { html } from '../frame/view.js';
import { address, useResource } from '../frame/api.js';
import { clock, plural } from '../parts/format.js';
import { link } from '../frame/route.js';
import { reasonOf } from './loss_reasons.js';

export function LossBadge({ trace }) {
  const from = trace.start;
  const to = from + Math.max(1000, trace.duration + (trace.after ?? 0));
  const { data } = useResource(address('losses', { from, to }), 10_000);
  const found = (data?.losses ?? []).filter(each => trace.services.includes(each.service));
  const services = [...new Set(found.map(each => each.service))];
  return services.map(service => {
    const here = found.filter(each => each.service === service);
    const number = here.reduce((total, each) => total + each.count, 0);
    return html`
      <a
        class="badge warn loss-badge"
        href=${link(['runtime', service, here[0].instance], { last: 'all' })}
        title=${here.map(describe).join('\n')}
      >
        ${service} lost ${plural(number, 'record')} then
      </a>
    `;
  });
}

function describe({ signal, kind, reason, count, from, to }) {
  const { text } = reasonOf(kind, reason, signal);
  const time = from ? `between ${clock(from, false)} and ${clock(to, false)}` : `by ${clock(to, false)}`;
  return `${plural(count, signal)} ${kind} ${time}: ${text || reason}`;
}
