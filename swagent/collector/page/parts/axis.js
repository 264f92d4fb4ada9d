// The parts that charts and the heatmap share: how a time axis reads, how it looks, and a box that changes its width.
import { colour } from '../frame/theme.js';
import { clock, day } from './format.js';

export function axisStyle() {
  const line = colour('--line');
  return {
    stroke: colour('--ink-3'),
    font: '11px system-ui, sans-serif',
    grid: { stroke: line, width: 1 },
    ticks: { stroke: line, width: 1, size: 4 },
  };
}

// seconds only where they say something, and the day where it changes
export function axisTimes(splits) {
  const minutes = splits.every(each => each % 60 === 0);
  return splits.map((each, index) => {
    const time = minutes ? clock(each * 1000, false).slice(0, 5) : clock(each * 1000, false);
    if (index > 0 && Math.floor(each) === Math.floor(splits[index - 1])) return ''; // it would read alike
    const changed = index > 0 && day(each * 1000) !== day(splits[index - 1] * 1000);
    if (!changed) return time;
    return time.startsWith('00:00') ? day(each * 1000) : `${day(each * 1000)} ${time}`;
  });
}

// as many decimals as distinguish neighbours
export function axisValues(splits, format) {
  const texts = splits.map(each => format(each));
  if (new Set(texts).size === texts.length) return texts;
  const digits = Math.min(6, Math.max(0, Math.ceil(-Math.log10(splits[1] - splits[0]) - 1e-9)));
  return splits.map((each, index) => {
    const [number] = texts[index].match(/^-?[\d.]+/) ?? [''];
    // not where the unit is another one, as in 1.00 s for 1003 ms
    if (Math.abs(Number(number) - each) >= 1) return texts[index];
    return each.toFixed(digits) + texts[index].slice(number.length);
  });
}

// in the next frame: a change made inside an observer's call can make the browser call it again, and complain
export function watchWidth(box, resize) {
  let frame = 0;
  let width = box.clientWidth;
  const observer = new ResizeObserver(() => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      if (box.clientWidth === 0 || box.clientWidth === width) return;
      width = box.clientWidth;
      resize(width);
    });
  });
  observer.observe(box);
  return () => {
    cancelAnimationFrame(frame);
    observer.disconnect();
  };
}
