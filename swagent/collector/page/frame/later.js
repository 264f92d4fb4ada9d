// A view whose modules come when it is shown first, or once the page has nothing better to do: those of the list of
// traces come before all others.
import { html, useEffect, useState } from './view.js';
import { connection } from './live.js';
import { Note } from '../parts/parts.js';

// `load` imports the view; the component that it gives has `load` too, for who wants it early
export function later(load) {
  let view = null;
  const fetchView = async () => {
    view ??= await load();
    return view;
  };
  function Later(props) {
    const [View, setView] = useState(() => view);
    const [lost, setLost] = useState(false);
    useEffect(() => {
      if (View) return undefined;
      let gone = false;
      const ask = () =>
        fetchView().then(
          found => gone || setView(() => found),
          () => gone || setLost(true),
        );
      ask();
      const leave = connection.onChange(ask); // the collector may be back
      return () => {
        gone = true;
        leave();
      };
    }, [View]);
    if (View)
      return html`
        <${View} ...${props} />
      `;
    return (
      lost &&
      html`
        <${Note} title="This view has not been loaded yet"><p>It comes when the collector answers again.</p><//>
      `
    );
  }
  Later.load = fetchView;
  return Later;
}

export function whenIdle(step) {
  if (window.requestIdleCallback) window.requestIdleCallback(step, { timeout: 3000 });
  else setTimeout(step, 1000);
}
