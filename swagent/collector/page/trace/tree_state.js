// The open parts of a trace's tree, and the row on which the keyboard is.
import { useMemo, useState } from '../frame/view.js';
import { childrenOf, descendants, errorsOnly, hiding, rowsOf } from './span_tree.js';

/* chosen: the span of the address; kept: where the trace was left; errors: only these and what leads to them */
export function useTree(spans, chosen, kept, errors) {
  const children = useMemo(() => childrenOf(spans), [spans]);
  const below = useMemo(() => descendants(spans), [spans]);
  const only = useMemo(() => (errors ? errorsOnly(spans) : null), [spans, errors]);
  const [activeId, setActiveId] = useState(chosen?.id ?? kept?.active ?? null);
  const [open, setOpen] = useState(() => {
    const state = { closed: kept?.closed ?? new Set(), unfolded: kept?.unfolded ?? new Set() };
    return chosen ? shown(state, hiding(spans, children, chosen)) : state;
  });
  const rows = useMemo(() => rowsOf(children, { ...open, only }), [children, open, only]);
  const active = useMemo(() => rows.findIndex(each => each.id === activeId), [rows, activeId]);

  const turn = (row, close) =>
    setOpen(old => {
      const closed = new Set(old.closed);
      const unfolded = new Set(old.unfolded);
      const [set, hides] = row.fold ? [unfolded, false] : [closed, true];
      if (close === hides) set.add(row.id);
      else set.delete(row.id);
      return { closed, unfolded };
    });
  const reveal = span => {
    setOpen(old => shown(old, hiding(spans, children, span)));
    setActiveId(span.id);
  };
  return { rows, active, activeId, setActiveId, turn, reveal, below, only, open };
}

function shown({ closed, unfolded }, { above, folds }) {
  const still = new Set(closed);
  above.forEach(each => still.delete(each));
  return { closed: still, unfolded: new Set([...unfolded, ...folds]) };
}
