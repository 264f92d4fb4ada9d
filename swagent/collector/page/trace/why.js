// Why a request was slow: where its time went, as a bar, a sentence and numbers.
import { html, useMemo } from '../frame/view.js';
import { duration, percent } from '../parts/format.js';
import { BLOCKED, millisOf } from './loop_blocks.js';
import { nameOf, sentenceOf } from './split_words.js';
import { splitOf } from './time_split.js';

// In the head of a trace: the bar and the sentence; the numbers are with the span. Where the culprit is named above, in
// whatever service it is, nothing is said of the first service alone.
export function Why({ span, spans, waits, isNamed, onMore }) {
  const split = useMemo(() => splitOf(span, spans, waits), [span, spans, waits]);
  if (split.total <= 0) return null;
  return html`
    <section class="why why-brief" aria-label="Why was this slow?">
      <${SplitBar} split=${split} />
      <p>
        ${
          !isNamed &&
          html`
            ${sentenceOf(split)} ${loopWords(span, split, waits)}${' '}
          `
        }
        <button type="button" class="as-link" onClick=${onMore}>Where its time went</button>
      </p>
    </section>
  `;
}

// in the details of a request
export function WhyDetails({ span, spans, waits }) {
  const split = useMemo(() => splitOf(span, spans, waits), [span, spans, waits]);
  if (split.total <= 0) return null;
  return html`
    <section class="why" aria-label="Where its time went">
      <h3>Where its time went</h3>
      <${SplitBar} split=${split} />
      <p>${sentenceOf(split)} ${loopWords(span, split, waits)}</p>
      <dl class="split-numbers">
        ${split.parts.map(
          (each, index) => html`
            <div>
              <dt>
                <i class=${`key ${each.kind} p${shade(split.parts, index)}`} aria-hidden="true"></i>
                <span dir="auto">${nameOf(each)}</span>
              </dt>
              <dd>${duration(each.ms)}</dd>
              <dd class="part-share">${percent(each.ms / split.total)}</dd>
            </div>
          `,
        )}
      </dl>
      ${
        !split.measured &&
        html`
          <p class="quiet">
            This is what the spans show. Whether its own time was work, or a wait that has no span, was not measured: for
            requests of ASGI applications <code>SW_AGENT_TIME_SPLIT_EVERY=1</code> or the accelerator measures it, and 100
            does so for one in a hundred.
          </p>
        `
      }
    </section>
  `;
}

function SplitBar({ split }) {
  const text = split.parts.map(each => `${nameOf(each)} ${duration(each.ms)}`).join(', ');
  return html`
    <div class="time-bar" role="img" aria-label=${text}>
      ${split.parts.map(
        (each, index) => html`
          <i
            class=${`${each.kind} p${shade(split.parts, index)}`}
            title=${`${nameOf(each)}: ${duration(each.ms)}`}
            style=${{ flexGrow: each.ms }}
          ></i>
        `,
      )}
    </div>
  `;
}

// the awaited parts have several shades: each differs from its neighbour
const shade = (parts, index) =>
  parts[index].kind === 'awaiting' ? parts.slice(0, index).filter(each => each.kind === 'awaiting').length % 3 : 0;

function loopWords(span, split, waits) {
  const blocked = millisOf(span, BLOCKED);
  return [waitedWords(split, waits), blocked && `It held the event loop itself for ${duration(blocked)}.`]
    .filter(Boolean)
    .join(' ');
}

// one that came in meanwhile waited before the application saw it, and its span began; not what is said already
function waitedWords({ parts }, { before = 0, within = 0 } = {}) {
  if (!before && !within) return '';
  if (!before) return `A blocked event loop made it wait ${duration(within)}.`;
  if (within) {
    const all = `A blocked event loop made it wait ${duration(before + within)}`;
    return `${all}, ${duration(before)} of them before the application saw it.`;
  }
  const isSaid = parts.every(each => each.ms <= before);
  return isSaid ? '' : `A blocked event loop made it wait ${duration(before)}, before the application saw it.`;
}
