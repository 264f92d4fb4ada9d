// Rows of one height, of which only those in sight exist.
import { html, useCallback, useEffect, useLayoutEffect, useRef, useState } from './view.js';

const OVERSCAN = 8;
const NEAR_END_ROWS = 40;

/* items, rowHeight; row(item, index) makes a row's content; active: index of the row that the keyboard is on, or -1;
   top: where it was left; onEnd: more rows are wanted; onTop(bool): whether the first row is in sight; onHold: the pointer
   moves over the rows */
export function VirtualList({
  items,
  rowHeight,
  row,
  active = -1,
  top: leftAt = 0,
  onEnd,
  onTop,
  onHold,
  label,
  role = 'list',
  className = '',
  head,
}) {
  const box = useRef(null);
  const leftActive = useRef(leftAt > 0 ? active : null); // it may have been out of sight when the list was left
  const [span, setSpan] = useState({ top: 0, height: 800 });

  const measure = useCallback(() => {
    const { scrollTop, clientHeight } = box.current;
    onTop?.(scrollTop < rowHeight / 2);
    // one render a row, not one a pixel
    const top = Math.floor(scrollTop / rowHeight) * rowHeight;
    setSpan(old => (old.top === top && old.height === clientHeight ? old : { top, height: clientHeight }));
  }, [rowHeight, onTop]);

  useLayoutEffect(() => {
    const observer = new ResizeObserver(measure);
    observer.observe(box.current);
    if (leftAt > 0 && box.current.scrollTop === 0) box.current.scrollTop = leftAt;
    measure();
    return () => observer.disconnect();
  }, [measure]);

  const first = Math.max(0, Math.floor(span.top / rowHeight) - OVERSCAN);
  const last = Math.min(items.length, Math.ceil((span.top + span.height) / rowHeight) + OVERSCAN);
  useEffect(() => {
    if (last + NEAR_END_ROWS >= items.length) onEnd?.();
  }, [last, items.length]);

  useEffect(() => {
    if (active < 0 || active === leftActive.current) return;
    leftActive.current = null;
    const element = box.current;
    const top = active * rowHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    const bottom = top + rowHeight + (head ? rowHeight : 0);
    if (bottom > element.scrollTop + element.clientHeight) element.scrollTop = bottom - element.clientHeight;
  }, [active, span.height]); // also when something has opened beside or over the rows

  const visible = items.slice(first, last);
  return html`
    <div
      class=${`virtual ${className}`}
      ref=${box}
      onScroll=${measure}
      onPointerMove=${onHold}
      onPointerDown=${onHold}
      tabindex="-1"
    >
      ${head}
      <div
        class="virtual-space"
        role=${role}
        aria-label=${label}
        style=${{ height: `${items.length * rowHeight}px` }}
      >
        ${visible.map((item, offset) => row(item, first + offset))}
      </div>
    </div>
  `;
}

// the library sets styles by script, which the page's policy allows; style attributes in markup it forbids
export const placed = (index, rowHeight) => ({
  transform: `translateY(${index * rowHeight}px)`,
  height: `${rowHeight}px`,
});
