// A group of errors as a row of the list.
import { html } from '../frame/view.js';
import { ago, count, duration, moment } from '../parts/format.js';
import { Service } from '../parts/parts.js';
import { Bars } from '../parts/trend.js';
import { placed } from '../frame/virtual.js';
import { placeOf, titleOf } from './error_texts.js';

export function Head() {
  return html`
    <div class="error-head" aria-hidden="true">
      <span>Error</span>
      <span>Where</span>
      <span class="number">Failures</span>
      <span class="number">Last</span>
      <span class="number">First</span>
    </div>
  `;
}

export function Row({ group, href, index, height, active, total, width, onOpen }) {
  const title = titleOf(group);
  const [service, ...others] = group.services;
  const most = Math.max(0, ...group.trend);
  return html`
    <div role="listitem" aria-setsize=${total} aria-posinset=${index + 1} class="row-box" style=${placed(index, height)}>
      <a
        class=${`error-row ${active ? 'active' : ''}`}
        href=${href}
        onClick=${onOpen}
      >
        <span class="error-what">
          <b dir="auto" title=${group.kind || title}>${title}</b>
          <span class="error-message" dir="auto" title=${group.message}>${group.message.split('\n')[0]}</span>
          <code class="error-place" title=${group.file}>${placeOf(group)}</code>
        </span>
        <span class="error-where">
          <${Service} name=${service ?? ''} />
          ${
            others.length > 0 &&
            html`
              <span class="others" title=${others.join(', ')}>+${others.length}</span>
            `
          }
          <span class="error-endpoint" dir="auto">
            ${group.endpoints[0]?.name || '(unnamed)'}${group.endpoints.length > 1 ? ` +${group.endpoints.length - 1}` : ''}
          </span>
        </span>
        <span class="error-count number">
          <${Bars}
            className="alarming"
            values=${group.trend}
            label=${`Failures over time: ${count(most)} in ${duration(width)} at most`}
          />
          <b>${count(group.count)}</b>
        </span>
        <time class="number error-last" title=${moment(group.last)}>${ago(group.last)}</time>
        <time class="number error-first" title=${moment(group.first)}>${ago(group.first)}</time>
      </a>
    </div>
  `;
}
