// Each trace of the list as a point, by its start and its duration: what is slow or failed stands out.
import { html, useEffect, useMemo, useRef } from '../frame/view.js';
import uPlot from '../vendor/uplot.js';
import { colour, useTheme } from '../frame/theme.js';
import { axisStyle, axisTimes, watchWidth } from '../parts/chart.js';
import { duration, roundDuration } from '../parts/format.js';
import { go, link, replace } from '../frame/route.js';

const HEIGHT = 118;
const REACH_PX = 14;
// ms, about a decade apart, round in the unit that is theirs: 1 ms to ten days
const DURATIONS = [1, 10, 100, 1000, 10_000, 60_000, 600_000, 3_600_000, 36_000_000, 86_400_000, 864_000_000];

export function Scatter({ traces, query }) {
  const box = useRef(null);
  const shown = useRef({ traces: [], query });
  const theme = useTheme();
  // the chart wants times that grow
  const sorted = useMemo(() => [...traces].sort((one, other) => one.start - other.start), [traces]);
  shown.current = { traces: sorted, query };
  const chart = useRef(null);

  useEffect(() => {
    const plot = new uPlot(options(box.current, shown), points(shown.current.traces), box.current);
    chart.current = plot;
    const stop = watchWidth(box.current, width => plot.setSize({ width, height: HEIGHT }));
    return () => {
      stop();
      plot.destroy();
    };
  }, [theme]);
  useEffect(() => chart.current.setData(points(sorted)), [sorted, theme]);
  return html`
    <figure
      class="scatter"
      aria-label="Duration of each listed trace by its start. Click a point for its trace, drag for a time."
    >
      <div ref=${box}></div>
      <figcaption class="scatter-tip" hidden></figcaption>
    </figure>
  `;
}

function points(traces) {
  return [
    traces.map(each => each.start / 1000),
    traces.map(each => (each.errors ? null : Math.max(1, each.duration))),
    traces.map(each => (each.errors ? Math.max(1, each.duration) : null)),
  ];
}

function options(box, shown) {
  const dots = (name, size, fill) => ({
    stroke: colour(name),
    fill: colour(fill),
    paths: () => null,
    points: { show: true, size, width: 1, stroke: colour(name), fill: colour(fill) },
  });
  const tip = () => box.parentElement.querySelector('.scatter-tip');
  return {
    width: box.clientWidth,
    height: HEIGHT,
    padding: [8, 24, 0, 0], // half a time on the axis
    legend: { show: false },
    scales: { x: { time: true }, y: { distr: 3, log: 10, range: logRange } },
    axes: [
      { ...axisStyle(), size: 24, values: (_, splits) => axisTimes(splits), space: 80 },
      {
        ...axisStyle(),
        size: 62,
        splits: (_, __, low, high) => DURATIONS.filter(each => each >= low && each <= high),
        filter: (_, splits) => splits,
        values: (_, splits) => splits.map(roundDuration),
      },
    ],
    series: [{}, dots('--accent', 5, '--accent-dot'), dots('--error', 8, '--error')], // failed: larger, and full
    cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
    hooks: {
      setSelect: [plot => select(plot, shown)],
      setCursor: [plot => describe(plot, nearest(plot, shown.current.traces), tip())],
      ready: [
        plot => {
          plot.over.addEventListener('click', () => {
            const trace = nearest(plot, shown.current.traces);
            if (trace) go(link(['traces', trace.trace_id]));
          });
          plot.over.addEventListener('mouseleave', () => {
            tip().hidden = true;
          });
        },
      ],
    },
  };
}

function logRange(_, low, high) {
  const from = DURATIONS.findLast(each => each <= (low ?? 1)) ?? 1;
  const to = DURATIONS.find(each => each > from && each >= (high ?? 10) * 1.05);
  return [from, to ?? DURATIONS.at(-1)];
}

function select(plot, shown) {
  const { left, width } = plot.select;
  if (width < 4) return;
  const at = x => String(Math.round(plot.posToVal(x, 'x') * 1000));
  replace(link(['traces'], { ...shown.current.query, from: at(left), to: at(left + width), last: '' }));
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
}

function nearest(plot, traces) {
  const { left, top } = plot.cursor;
  if (left === undefined || left < 0) return null;
  let best = null;
  let reach = REACH_PX ** 2;
  for (const trace of traces) {
    const x = plot.valToPos(trace.start / 1000, 'x') - left;
    if (Math.abs(x) > REACH_PX) continue;
    const distance = x ** 2 + (plot.valToPos(Math.max(1, trace.duration), 'y') - top) ** 2;
    if (distance < reach) {
      best = trace;
      reach = distance;
    }
  }
  return best;
}

function describe(plot, trace, tip) {
  if (!tip) return;
  tip.hidden = !trace;
  plot.over.classList.toggle('on-point', Boolean(trace));
  if (!trace) return;
  tip.textContent = `${duration(trace.duration)}  ${trace.endpoint}  ${trace.service}${trace.errors ? '  failed' : ''}`;
  tip.style.left = `${Math.min(plot.cursor.left + 70, plot.width - 240)}px`;
}
