// The other spans that caused a span, and those that it caused elsewhere: a batch of messages has several producers.
import { html } from '../frame/view.js';
import { Service } from '../parts/parts.js';
import { link } from '../frame/route.js';

export function Relations({ title, links, trace }) {
  if (links.length === 0) return null;
  return html`
    <h3>${title}</h3>
    <ul class="relations" aria-label=${title}>
      ${links.map(
        each => html`
          <li key=${`${each.trace_id} ${each.span}`}>
            ${
              each.kept
                ? html`
                    <a href=${link(['traces', each.trace_id], { span: each.span })}>${each.endpoint || each.span}</a>
                  `
                : html`
                    <span>${each.endpoint || each.span}</span>
                  `
            }
            <${Service} name=${each.service} quiet=${true} />
            ${
              !each.kept
                ? html`
                    <span class="badge">has not arrived</span>
                  `
                : each.trace_id !== trace.trace_id &&
                  html`
                    <span class="badge">another trace</span>
                  `
            }
          </li>
        `,
      )}
    </ul>
  `;
}
