// From a trace to its comparison.
import { html } from '../frame/view.js';
import { link } from '../frame/route.js';

export function CompareLinks({ id }) {
  return html`
    <span class="compare-links">
      <a href=${link(['compare', id], { with: 'median' })}>Compare with the median</a>
      <a href=${link(['compare', id])}>Compare with …</a>
    </span>
  `;
}
