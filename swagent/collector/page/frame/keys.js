// One listener for the page's keys. What is shown last hears first.
import { useLayoutEffect, useRef } from './view.js';

const layers = [];

export function useKeys(bindings) {
  const current = useRef(bindings);
  current.current = bindings;
  // with the first paint: what is seen can be steered
  useLayoutEffect(() => {
    layers.push(current);
    return () => layers.splice(layers.indexOf(current), 1);
  }, []);
}

// the keys that go from row to row
export const stepKeys = step => ({
  j: () => step(1),
  k: () => step(-1),
  ArrowDown: () => step(1),
  ArrowUp: () => step(-1),
});

// whether a key was pressed on something that has a use for it of its own
export const isOn = (event, selector = 'a, button') =>
  event.target instanceof HTMLElement && event.target.closest(selector) !== null;

// the field that takes what is typed, or nothing
function typingIn(element) {
  if (!(element instanceof HTMLElement)) return null;
  if (element instanceof HTMLInputElement) return element.type === 'checkbox' ? null : element;
  return element.isContentEditable || ['TEXTAREA', 'SELECT'].includes(element.tagName) ? element : null;
}

export function listenForKeys() {
  window.addEventListener('keydown', event => {
    if (document.querySelector('dialog[open]')) return; // it has its own
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const field = typingIn(event.target);
    if (field) {
      if (event.key === 'Escape') field.blur();
      return;
    }
    for (let index = layers.length - 1; index >= 0; index -= 1) {
      const action = layers[index].current[event.key];
      // `false` says: not mine, ask the next
      if (action && action(event) !== false) {
        event.preventDefault();
        return;
      }
    }
  });
}
