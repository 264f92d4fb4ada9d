// Typed text goes out when typing pauses; meanwhile the field has it.
import { useEffect, useRef, useState } from './view.js';

// `say(text)` now, `type(text)` after `pause` ms; `type(text, false)` when it is said, or left: see `isHeld`
export function useTyped(value, onChange, pause) {
  const [typed, setTyped] = useState(value);
  const timer = useRef(null);
  useEffect(() => {
    if (timer.current === null) setTyped(value);
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const say = text => {
    clearTimeout(timer.current);
    timer.current = null;
    onChange(text.trim());
  };
  const type = (text, goesOut = true) => {
    setTyped(text);
    clearTimeout(timer.current);
    timer.current = goesOut ? setTimeout(() => say(text), pause) : -1;
  };
  return { typed, type, say, isHeld: () => timer.current !== null };
}
