// A stack as exceptions with their frames, the last exception and its innermost frame first; library frames are folded.
import { html, useMemo, useState } from '../frame/view.js';
import { plural } from '../parts/format.js';
import { Copy } from '../parts/parts.js';
import { folded, readStack } from './stack_text.js';

export function Stack({ text, title }) {
  const [plain, setPlain] = useState(false);
  const blocks = useMemo(() => readStack(text, title), [text, title]);
  const frames = blocks.reduce((sum, each) => sum + each.frames.length, 0);
  return html`
    <section class="error-stack" aria-label="Stack">
      <header>
        <h2>Stack</h2>
        ${
          frames > 0 &&
          html`
            <button type="button" class="toggle small" aria-pressed=${plain ? 'true' : 'false'} onClick=${() => setPlain(!plain)}>
              as text
            </button>
          `
        }
        <${Copy} text=${text} label="the stack" />
      </header>
      ${
        plain || frames === 0
          ? html`
              <pre class="stack" tabindex="0">${text}</pre>
            `
          : blocks.map(
              each => html`
                <${Exception} block=${each} />
              `,
            )
      }
    </section>
  `;
}

function Exception({ block }) {
  return html`
    <div class="exception">
      ${
        block.how &&
        html`
          <p class="quiet">${block.how}</p>
        `
      }
      ${
        block.title &&
        html`
          <p class="exception-title" dir="auto">${block.title}</p>
        `
      }
      <ol>
        ${folded(block.frames).map(run =>
          run.library
            ? html`
                <li>
                  <details>
                    <summary>${plural(run.frames.length, 'library frame')}</summary>
                    <ol>
                      ${run.frames.map(
                        each => html`
                          <${Frame} frame=${each} />
                        `,
                      )}
                    </ol>
                  </details>
                </li>
              `
            : html`
                <${Frame} frame=${run.frames[0]} />
              `,
        )}
      </ol>
    </div>
  `;
}

function Frame({ frame }) {
  return html`
    <li class=${`frame ${frame.library ? 'library' : ''}`}>
      <b>${frame.function || '(module)'}</b>${' '}
      <code>${frame.file}${frame.line ? `:${frame.line}` : ''}</code>
      ${
        frame.source &&
        html`
          <code class="source">${frame.source}</code>
        `
      }
    </li>
  `;
}
