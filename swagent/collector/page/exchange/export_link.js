// Saves traces as a file: one, or the newest of those that match.
import { html } from '../frame/view.js';
import { address } from '../frame/api.js';
import { Icon } from '../parts/icons.js';

const MOST = 100;

export function ExportTrace({ id }) {
  return html`
    <${Save} href=${address('export', { trace_id: id })} title="Save this trace and its log lines as a file" />
  `;
}

export function ExportList({ filters }) {
  return html`
    <${Save}
      href=${address('export', { ...filters, limit: MOST })}
      title=${`Save these traces and their log lines as a file: the first ${MOST}`}
    />
  `;
}

function Save({ href, title }) {
  return html`
    <a class="export" href=${href} download="" title=${title} aria-label=${`Export: ${title}`}>
      <${Icon} name="export" size=${14} />
      Export
    </a>
  `;
}
