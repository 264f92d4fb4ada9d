// Lines over time, drawn by the chart library in the page's colours.
import { html, useEffect, useMemo, useRef } from '../frame/view.js';
import uPlot from '../vendor/uplot.js';
import { colour, useTheme } from '../frame/theme.js';
import { clock, day, short } from './format.js';

export function axisStyle() {
  const line = colour('--line');
  return {
    stroke: colour('--ink-3'),
    font: '11px system-ui, sans-serif',
    grid: { stroke: line, width: 1 },
    ticks: { stroke: line, width: 1, size: 4 },
  };
}

// seconds only where they tell something, and the day where it changes
export function axisTimes(splits) {
  const minutes = splits.every(each => each % 60 === 0);
  return splits.map((each, index) => {
    const time = minutes ? clock(each * 1000, false).slice(0, 5) : clock(each * 1000, false);
    const changed = index > 0 && day(each * 1000) !== day(splits[index - 1] * 1000);
    if (!changed) return time;
    return time.startsWith('00:00') ? day(each * 1000) : `${day(each * 1000)} ${time}`;
  });
}

// as many decimals as tell neighbours apart
function axisValues(splits, format) {
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

// as wide as its longest text, in the font of the axis
function axisWidth(texts) {
  return Math.max(52, 16 + 6.4 * Math.max(0, ...(texts ?? []).map(each => each.length)));
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

/* series: [{label, points: [[ms, value]]}]; format: how a value reads; label: what a reader who sees no chart is told */
export function Chart({ series, height = 150, format = short, label, sync }) {
  const box = useRef(null);
  const plot = useRef(null);
  const theme = useTheme();
  const names = series.map(each => each.label).join('\n');
  const data = useMemo(() => table(series), [series]);
  useEffect(() => {
    const made = new uPlot(options(box.current, series, { height, format, sync }), data, box.current);
    plot.current = made;
    const stop = watchWidth(box.current, width => made.setSize({ width, height }));
    return () => {
      stop();
      made.destroy();
    };
  }, [theme, names]);
  useEffect(() => plot.current.setData(data), [data, theme, names]);
  return html`
    <div class="chart" role="img" aria-label=${label} ref=${box}></div>
  `;
}

function table(series) {
  if (series.length === 0) return [[]];
  const tables = series.map(each => [
    each.points.map(([time]) => time / 1000),
    each.points.map(([, value]) => value),
  ]);
  return tables.length === 1 ? tables[0] : uPlot.join(tables);
}

function options(box, series, { height, format, sync }) {
  return {
    width: box.clientWidth || 300,
    height,
    padding: [8, 24, 0, 0], // half a time on the axis
    legend: { show: series.length > 1, live: true },
    cursor: {
      y: false,
      ...(sync ? { sync: { key: sync } } : {}),
      drag: { x: true, y: false },
      points: { size: 6 },
    },
    scales: { x: { time: true }, y: { range: (_, low, high) => roomy(low, high) } },
    axes: [
      { ...axisStyle(), size: 24, values: (_, splits) => axisTimes(splits), space: 70 },
      { ...axisStyle(), size: (_, texts) => axisWidth(texts), space: 28, values: (_, splits) => axisValues(splits, format) },
    ],
    series: [
      { value: (_, value) => (value === null ? '–' : clock(value * 1000, false)) },
      ...series.map((each, index) => ({
        label: each.label,
        stroke: colour(`--c${index % 10}`),
        width: 1.75,
        spanGaps: true,
        fill: series.length === 1 ? colour('--chart-fill') : undefined, // where nothing is pointed at: the newest
        value: (plot, value, of) =>
          read(value ?? plot.data[of].findLast(one => one !== null && one !== undefined), format),
        points: { show: each.points.length < 2, size: 5 },
      })),
    ],
  };
}

const read = (value, format) => (value === null || value === undefined ? '–' : format(value));

// from zero, unless everything happens far above it; a flat line lies in the middle of something
function roomy(low, high) {
  if (low === null || low === undefined) return [0, 1];
  if (low === high) return low === 0 ? [0, 1] : [Math.min(0, low * 2), Math.max(0, high * 1.6)];
  const from = low > 0 && low > high * 0.8 ? low - (high - low) * 0.3 : Math.min(0, low);
  return [Math.max(from, low >= 0 ? 0 : from), high + (high - from) * 0.08];
}
