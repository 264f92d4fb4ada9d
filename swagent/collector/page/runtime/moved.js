// Addresses of views that are part of another one now.
import { html, useEffect } from '../frame/view.js';
import { link, replace } from '../frame/route.js';

export function Moved({ query }) {
  useEffect(() => replace(link(['runtime'], { service: query.service })), []);
  return html`
    <div class="loading" role="status"></div>
  `;
}
