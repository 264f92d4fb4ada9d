// The failure in a span: the exception, and where it was raised.
import { html } from '../frame/view.js';
import { Pairs } from '../parts/parts.js';
import { Stack } from '../parts/stack.js';

// SkyWalking's own Python agent says it by a field `Traceback`
export const isError = log =>
  log.fields.some(
    ([key, value]) => (key === 'event' && value === 'error') || key === 'error.kind' || key === 'Traceback',
  );

function errorOf(fields) {
  const { 'error.kind': kind, message, stack, Traceback: traceback } = fields;
  if (!traceback) return { kind: kind ?? 'Error', message, stack };
  const [name, ...rest] = traceback.trimEnd().split('\n').at(-1).split(': ');
  return { kind: kind ?? name, message: message ?? rest.join(': '), stack: stack ?? traceback };
}

// handled: the span did not fail because of it
export function Failure({ log, handled }) {
  const fields = Object.fromEntries(log.fields);
  const { kind, message, stack } = errorOf(fields);
  const rest = log.fields.filter(([key]) => !['event', 'error.kind', 'message', 'stack', 'Traceback'].includes(key));
  return html`
    <section class=${`failure ${handled ? 'handled' : ''}`} aria-label=${handled ? 'Handled error' : 'Error'}>
      <p>
        <b>${kind}</b>${' '}
        ${
          message &&
          html`
            ${message}
          `
        }
      </p>
      ${
        stack &&
        html`
          <${Stack} text=${stack} kind=${kind} message=${message ?? ''} />
        `
      }
      ${
        rest.length > 0 &&
        html`
          <${Pairs} pairs=${rest} label="Fields" />
        `
      }
    </section>
  `;
}
