// One meter, as a chart.
import { html, useEffect, useMemo, useRef, useState } from '../frame/view.js';
import { address, useResource } from '../frame/api.js';
import { Chart } from '../parts/chart.js';
import { duration } from '../parts/format.js';
import { isLevel, meterFormat, meterTitle } from './meter_names.js';

export function MeterChart({ meter, last = '15', height = 150 }) {
  const [seen, box] = useSeen();
  const [rate, setRate] = useState(false);
  const minutes = Number(last);
  // in steps, so that the address, and with it what is shown, stays the same for a while
  const from = minutes ? Math.floor(Date.now() / 30_000) * 30_000 - minutes * 60_000 : '';
  const url = address('meters/series', {
    service: meter.service,
    instance: meter.instance,
    name: meter.name,
    from,
  });
  const [kept, setKept] = useState(null);
  const { data, error } = useResource(seen ? url : null, 3000);
  useEffect(() => {
    if (data) setKept(data);
  }, [data]);
  const shown = data ?? kept;
  const series = useMemo(() => (shown ? shown.series.flatMap(each => lines(each, rate)) : []), [shown, rate]);
  const format = shown?.kind === 'histogram' ? duration : meterFormat(meter);
  const title = meterTitle(meter.name);
  const grows = shown && !isLevel(meter.name) && shown.kind !== 'histogram' && shown.series.length > 0 && shown.series.every(growing);
  const newest = series.length === 1 ? series[0].points.at(-1)?.[1] : undefined;
  return html`
    <article
      class="card chart-card"
      ref=${box}
      aria-label=${title}
      data-meter=${meter.name}
    >
      <header>
        <h3>${title}</h3>
        ${
          title !== meter.name &&
          html`
            <code>${meter.name}</code>
          `
        }
        ${
          grows &&
          html`
            <button
              type="button"
              class=${`toggle small ${rate ? 'on' : ''}`}
              aria-pressed=${rate ? 'true' : 'false'}
              onClick=${() => setRate(!rate)}
            >
              per second
            </button>
          `
        }
        ${
          newest !== undefined &&
          html`
            <b class="newest number">${rate ? `${format(newest)}/s` : format(newest)}</b>
          `
        }
      </header>
      ${
        error &&
        !shown &&
        html`
          <p class="quiet">${error.message}</p>
        `
      }
      ${
        series.length > 0
          ? html`
              <${Chart}
                series=${series}
                height=${height}
                format=${format}
                label=${`${title} over time`}
                sync="meters"
              />
            `
          : html`
              <div class="chart-space">${shown ? 'No sample in this time' : ''}</div>
            `
      }
    </article>
  `;
}

function lines(each, rate) {
  const labels = Object.entries(each.labels);
  const label =
    labels
      .map(([key, value]) =>
        key === 'quantile' ? quantile(value) : key === 'signal' || key === 'reason' ? value : `${key} ${value}`,
      )
      .join(', ') || 'value';
  if (each.labels.quantile === 'count' || (each.labels.quantile === undefined && each.labels.count !== undefined))
    return [];
  return each.points.length ? [{ label, points: rate ? perSecond(each.points) : each.points }] : [];
}

const quantile = value => (/^0?\.\d+$/.test(value) ? `p${Math.round(Number(value) * 100)}` : value);
const growing = each =>
  each.points.length > 2 &&
  each.points.every(([, value], index) => index === 0 || value >= each.points[index - 1][1]) &&
  each.points.at(-1)[1] > each.points[0][1];

function perSecond(points) {
  return points
    .slice(1)
    .map(([time, value], index) => [
      time,
      (value - points[index][1]) / Math.max(0.001, (time - points[index][0]) / 1000),
    ]);
}

// charts out of sight ask for nothing
function useSeen() {
  const box = useRef(null);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver(entries => setSeen(entries.some(each => each.isIntersecting)), {
      rootMargin: '200px',
    });
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  return [seen, box];
}
