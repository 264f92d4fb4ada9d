// Saves a trace as one page that opens anywhere.
import { html, useState } from '../frame/view.js';
import { Icon } from '../parts/icons.js';
import { tracePage } from './trace_page.js';

const STYLES = ['base.css', 'trace_file.css'];

export function SavePage({ trace, findings }) {
  const [problem, setProblem] = useState('');
  const press = async () => {
    try {
      save(tracePage(trace, findings, await styles()), `trace-${trace.trace_id.replace(/[^0-9A-Za-z.-]+/g, '').slice(0, 40)}.html`);
      setProblem('');
    } catch (error) {
      setProblem(error.message);
    }
  };
  return html`
    <button
      type="button"
      class="export"
      onClick=${press}
      title="Save this trace as one HTML file, which opens without a collector"
      aria-label="HTML: Save this trace as one file, which opens without a collector"
    >
      <${Icon} name="export" size=${14} />
      HTML
    </button>
    ${
      problem &&
      html`
        <span role="alert">${problem}</span>
      `
    }
  `;
}

// in the folder that the page itself is from
async function styles() {
  const main = /** @type {HTMLScriptElement} */ (document.querySelector('script[src$="main.js"]')).src;
  const texts = await Promise.all(
    STYLES.map(async name => {
      const answer = await fetch(new URL(`styles/${name}`, main));
      if (!answer.ok) throw new Error('The collector does not have the styles of the file.');
      return answer.text();
    }),
  );
  return texts.join('\n');
}

function save(text, name) {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/html' }));
  const anchor = document.createElement('a');
  Object.assign(anchor, { href: url, download: name });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
