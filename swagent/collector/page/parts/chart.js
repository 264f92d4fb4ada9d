// Lines over time, drawn by the chart library in the page's colours.
import { html, useEffect, useMemo, useRef } from '../frame/view.js';
import uPlot from '../vendor/uplot.js';
import { colour, useTheme } from '../frame/theme.js';
import { axisStyle, axisTimes, axisValues, watchWidth } from './axis.js';
import { clock, short } from './format.js';

// as wide as its longest text, in the font of the axis
function axisWidth(texts) {
  return Math.max(52, 16 + 6.4 * Math.max(0, ...(texts ?? []).map(each => each.length)));
}

/* series: [{label, points: [[ms, value]]}]; format: how a value reads; label: the text for a reader who sees no chart */
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

/** @returns {import('uplot').Options} */
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
/** @returns {[number, number]} */
function roomy(low, high) {
  if (low === null || low === undefined) return [0, 1];
  if (low === high) return low === 0 ? [0, 1] : [Math.min(0, low * 2), Math.max(0, high * 1.6)];
  const from = low > 0 && low > high * 0.8 ? low - (high - low) * 0.3 : Math.min(0, low);
  return [Math.max(from, low >= 0 ? 0 : from), high + (high - from) * 0.08];
}
