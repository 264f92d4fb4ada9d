// The collector's findings in a trace: the culprit, across services and against its baseline, then the other faults.
import { html } from '../frame/view.js';
import { address, useResource } from '../frame/api.js';

const RARELY = 10_000; // milliseconds: it reads the calls of all traces for the baselines
const SHOWN = 4;

export function useFindings(id) {
  const { data } = useResource(address(`traces/${encodeURIComponent(id)}/findings`), RARELY);
  return data;
}

export function Findings({ found, trace, onChoose }) {
  const shown = listOf(found);
  if (shown.length === 0) return null;
  return html`
    <ul class="findings" aria-label="Findings">
      ${shown.map(
        finding => html`
          <li key=${finding.kind + finding.sentence} class=${`finding ${finding.confidence}`}>
            <${Evidence} ...${{ finding, trace, onChoose }} />
            ${
              finding.confidence !== 'high' &&
              html`
                <span class="quiet"> ${finding.confidence === 'low' ? 'maybe' : 'probably'}</span>
              `
            }
          </li>
        `,
      )}
    </ul>
  `;
}

// the evidence is a span of this trace, which is chosen, or one of another, which is a link
function Evidence({ finding, trace, onChoose }) {
  const place = finding.places[0];
  const span = trace.spans.find(each => each.id === place?.span);
  if (!span) {
    return html`
      <a href=${finding.link} dir="auto">${finding.sentence}</a>
    `;
  }
  return html`
    <button type="button" class="as-link" dir="auto" onClick=${() => onChoose(span)}>${finding.sentence}</button>
  `;
}

// the culprit first, once
function listOf(found) {
  if (!found) return [];
  const others = found.findings.filter(each => each.sentence !== found.culprit?.sentence);
  return [found.culprit, ...others].filter(Boolean).slice(0, SHOWN);
}
