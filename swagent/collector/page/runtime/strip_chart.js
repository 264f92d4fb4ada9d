// One of several charts over one time axis: the same left edge, the same right edge, the same marks.
import { html, useEffect, useMemo, useRef } from '../frame/view.js';
import uPlot from '../vendor/uplot.js';
import { colour, useTheme } from '../frame/theme.js';
import { axisStyle, axisValues, watchWidth } from '../parts/axis.js';
import { clock } from '../parts/format.js';

export const LEFT = 62;
export const RIGHT = 16;

const HEIGHT = 84;

/* chart: {title, hint, format, least, series: [{label, points: [[ms, value]]}]}; span: {from, to}; marks: [{time, kind}] */
export function StripChart({ chart, span, marks }) {
  const { title, hint, series } = chart;
  const head = useRef(null);
  const box = useRef(null);
  const plot = useRef(null);
  const shown = useRef({ span, marks });
  shown.current = { span, marks };
  const theme = useTheme();
  const names = series.map(each => each.label).join('\n');
  const data = useMemo(() => table(series), [series]);
  useEffect(() => {
    const made = new uPlot(options(box.current, head.current, chart, shown), data, box.current);
    plot.current = made;
    const stop = watchWidth(box.current, width => made.setSize({ width, height: HEIGHT }));
    return () => {
      stop();
      made.destroy();
    };
  }, [theme, names]);
  useEffect(() => plot.current.setData(data), [data, span.from, span.to, marks, theme, names]);
  return html`
    <article class=${`strip ${series.length > 1 ? '' : 'single'}`} aria-label=${title}>
      <header ref=${head}>
        <h2>
          ${title}
          ${
            hint &&
            html`
              <span class="quiet">${hint}</span>
            `
          }
        </h2>
      </header>
      <div class="chart" role="img" aria-label=${`${title} over time`} ref=${box}></div>
    </article>
  `;
}

function table(series) {
  const tables = series.map(each => [
    each.points.map(([time]) => time / 1000),
    each.points.map(([, value]) => value),
  ]);
  return tables.length === 1 ? tables[0] : uPlot.join(tables);
}

/** @returns {import('uplot').Options} */
function options(box, head, { series, format, least }, shown) {
  return {
    width: box.clientWidth || 300,
    height: HEIGHT,
    padding: [6, RIGHT, 6, 0],
    legend: { show: true, live: true, mount: (_, legend) => head.append(legend) },
    cursor: { y: false, sync: { key: 'runtime' }, drag: { x: false, y: false }, points: { size: 6 } },
    scales: {
      x: { time: true, range: () => [shown.current.span.from / 1000, shown.current.span.to / 1000] },
      // from nothing: what grows by a hundredth is no leak
      y: { range: (_, low, high) => [Math.min(0, low ?? 0), Math.max(least, (high ?? 0) * 1.1)] },
    },
    axes: [
      { ...axisStyle(), size: 0, values: () => [] },
      { ...axisStyle(), size: LEFT, space: 26, values: (_, splits) => axisValues(splits, format) },
    ],
    series: [
      { value: (_, value) => (value === null ? '' : clock(value * 1000, false)) },
      ...series.map((each, index) => ({
        label: each.label,
        stroke: colour(`--c${index % 10}`),
        dash: index % 2 ? [6, 3] : undefined, // colours are not the only cue
        width: 1.75,
        spanGaps: true,
        fill: series.length === 1 ? colour('--chart-fill') : undefined,
        value: (plot, value, of) =>
          read(value ?? plot.data[of].findLast(one => one !== null && one !== undefined), format),
        points: { show: each.points.length < 2, size: 5 },
      })),
    ],
    hooks: { draw: [made => drawMarks(made, shown.current.marks)] },
  };
}

const read = (value, format) => (value === null || value === undefined ? '–' : format(value));

function drawMarks(plot, marks) {
  const { ctx: canvas, bbox: box } = plot;
  canvas.save();
  canvas.lineWidth = devicePixelRatio;
  canvas.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
  for (const { time, kind } of marks) {
    const at = Math.round(plot.valToPos(time / 1000, 'x', true));
    if (at < box.left || at > box.left + box.width) continue;
    canvas.strokeStyle = colour(kind === 'bad' ? '--error' : '--line-strong');
    canvas.beginPath();
    canvas.moveTo(at, box.top);
    canvas.lineTo(at, box.top + box.height);
    canvas.stroke();
  }
  canvas.restore();
}
