// More that can be done with a row: a small menu behind one button.
import { html, useEffect, useRef } from '../frame/view.js';

/* name: of the row, for one who does not see it */
export function RowMenu({ name, children }) {
  const box = useRef(null);
  const close = () => {
    box.current.open = false;
  };
  useEffect(() => {
    const leave = event => {
      if (!box.current.contains(event.target)) close();
    };
    document.addEventListener('pointerdown', leave);
    return () => document.removeEventListener('pointerdown', leave);
  }, []);
  return html`
    <details
      class="row-menu"
      ref=${box}
      onFocusOut=${event => {
        // a button that was pressed and waits for an answer has no focus, and nothing else has it
        if (event.relatedTarget && !box.current.contains(event.relatedTarget)) close();
      }}
      onKeyDown=${event => {
        if (event.key !== 'Escape' || !box.current.open) return;
        event.stopPropagation();
        close();
        box.current.querySelector('summary').focus();
      }}
    >
      <summary aria-label=${`More: ${name}`} title="More">⋯</summary>
      <div class="row-menu-items">${children}</div>
    </details>
  `;
}
