// Of a span: where its time went by the stacks that a profile took of it, and a way to have some taken.
import { html, useState } from '../frame/view.js';
import { address, useResource } from '../frame/api.js';
import { link } from '../frame/route.js';
import { Flame } from './flame.js';
import { ProfileButton } from './profile_button.js';

export function SpanProfile({ span, trace }) {
  const { data } = useResource(address('profiles', { trace_id: trace.trace_id }), 3000);
  const found = (data?.tasks ?? [])
    .flatMap(task => task.segments.map(segment => ({ task, segment })))
    .find(({ segment }) => span.id.startsWith(`${segment.segment_id}:`));
  return html`
    ${
      span.kind === 'entry' &&
      html`
        <p class="span-profile"><${ProfileButton} service=${span.service} endpoint=${span.operation} /></p>
      `
    }
    ${
      found &&
      html`
        <${Stacks} task=${found.task} segment=${found.segment} span=${span} />
      `
    }
  `;
}

function Stacks({ task, segment, span }) {
  const [look, setLook] = useState({});
  const shift = span.shift ?? 0; // stacks have the times of their process's clock
  const times = span.kind === 'entry' ? {} : { from: span.start - shift, to: span.end - shift };
  const url = address(`profiles/${encodeURIComponent(task.id)}`, { segment: segment.segment_id, ...times });
  const { data } = useResource(url, 3000);
  if (!data || data.nodes.length === 0) return null;
  return html`
    <section class="span-stacks" aria-label="Profile">
      <h3>Where the time went</h3>
      <${Flame}
        nodes=${data.nodes}
        leftOut=${data.left_out}
        look=${look}
        onLook=${changes => setLook(old => ({ ...old, ...changes }))}
      />
      <p><a href=${link(['profiles', task.id], { segment: segment.segment_id })}>Open the profile</a></p>
    </section>
  `;
}
