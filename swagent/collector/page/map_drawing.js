// The map, drawn.
import { html, useLayoutEffect, useMemo, useRef, useState } from './view.js';
import { colourClass } from './colours.js';
import { count, duration, percent, short } from './format.js';
import { NODE, arrange, fit } from './map_layout.js';

export function Drawing({ data, chosen, onChoose }) {
  const [room, box] = useRoom();
  // the numbers change all the time, the places only when a node or an edge is new
  const shape = JSON.stringify([
    data.nodes.map(each => each.name).sort(),
    data.edges.map(each => [each.from, each.to]).sort(),
  ]);
  const both = useMemo(() => [arrange(data, 'LR'), arrange(data, 'TB')], [shape]);
  const [places] = [...both].sort((one, other) => fit(other, room) - fit(one, room));
  const scale = Math.max(fit(places, room), 0.72);
  const busiest = Math.max(1, ...data.edges.map(each => each.calls));
  const near = name =>
    !chosen ||
    name === chosen ||
    data.edges.some(
      each => (each.from === chosen && each.to === name) || (each.to === chosen && each.from === name),
    );
  return html`
    <div class="map-box" ref=${box}>
      <svg
        class="map-drawing"
        viewBox=${`0 0 ${places.width} ${places.height}`}
        width=${Math.floor(places.width * scale)}
        height=${Math.floor(places.height * scale)}
        role="group"
        aria-label="Service map"
      >
        <defs>
          ${['', 'bad'].map(
            kind => html`
              <marker
                id=${`arrow${kind}`}
                class=${`arrow ${kind}`}
                viewBox="0 0 8 8"
                refX="7"
                refY="4"
                markerWidth="7"
                markerHeight="7"
                markerUnits="userSpaceOnUse"
                orient="auto-start-reverse"
              >
                <path d="M0 0.5L8 4L0 7.5z" />
              </marker>
            `,
          )}
        </defs>
        ${data.edges.map(
          edge => html`
            <${Edge}
              key=${`${edge.from}\n${edge.to}`}
              edge=${edge}
              place=${places.edges.get(`${edge.from}\n${edge.to}`)}
              share=${edge.calls / busiest}
              dim=${chosen && edge.from !== chosen && edge.to !== chosen}
            />
          `,
        )}
        ${data.nodes.map(
          node => html`
            <${Box}
              key=${node.name}
              node=${node}
              place=${places.nodes.get(node.name)}
              chosen=${node.name === chosen}
              dim=${!near(node.name)}
              onChoose=${() => onChoose(node.name === chosen ? null : node.name)}
            />
          `,
        )}
      </svg>
    </div>
  `;
}

function Edge({ edge, place, share, dim }) {
  if (!place) return null;
  const bad = edge.errors > 0;
  return html`
    <g class=${`edge ${bad ? 'bad' : ''} ${dim ? 'dim' : ''}`} data-edge=${`${edge.from} ${edge.to}`}>
      <path
        d=${place.path}
        fill="none"
        stroke-width=${(1.2 + 2.6 * Math.sqrt(share)).toFixed(1)}
        marker-end=${`url(#arrow${bad ? 'bad' : ''})`}
      />
      <g transform=${`translate(${place.x} ${place.y})`}>
        <rect class="edge-ground" x="-48" y=${bad ? -16 : -9} width="96" height=${bad ? 32 : 18} rx="5" />
        <text class="edge-text" text-anchor="middle" y=${bad ? -3 : 4}>
          ${short(edge.calls_per_minute)}/min<tspan class="soft">${' '}· ${duration(edge.p50)}</tspan>
        </text>
        ${
          bad &&
          html`
            <text class="edge-text error" text-anchor="middle" y="11">${percent(edge.error_rate)} failed</text>
          `
        }
      </g>
    </g>
  `;
}

function Box({ node, place, chosen, dim, onChoose }) {
  const bad = node.errors > 0;
  const label = `${node.name}, ${node.kind}, ${count(node.calls)} calls, ${count(node.errors)} errors, median ${duration(node.p50)}`;
  const press = event => {
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      event.stopPropagation();
      onChoose();
    }
  };
  return html`
    <g
      class=${`node ${node.kind} ${node.kind === 'service' ? colourClass(node.name) : ''} ${chosen ? 'chosen' : ''} ${dim ? 'dim' : ''}`}
      transform=${`translate(${place.x - NODE.width / 2} ${place.y - NODE.height / 2})`}
      role="button"
      tabindex="0"
      aria-pressed=${chosen ? 'true' : 'false'}
      aria-label=${label}
      onClick=${onChoose}
      onKeyDown=${press}
      data-node=${node.name}
    >
      <rect class="node-ground" width=${NODE.width} height=${NODE.height} rx=${node.kind === 'peer' ? 27 : 10} />
      ${
        node.kind === 'service' &&
        html`
          <rect class="node-stripe" x="10" y="11" width="4" height="32" rx="2" />
        `
      }
      <text
        class="node-name"
        x=${node.kind === 'peer' ? NODE.width / 2 : 24}
        y="23"
        text-anchor=${node.kind === 'peer' ? 'middle' : 'start'}
      >
        ${cut(node.name)}
        <title>${node.name}</title>
      </text>
      <text
        class="node-text"
        x=${node.kind === 'peer' ? NODE.width / 2 : 24}
        y="41"
        text-anchor=${node.kind === 'peer' ? 'middle' : 'start'}
      >
        ${short(node.calls)} calls${node.p50 === null ? '' : ` · ${duration(node.p50)}`}
      </text>
      ${
        bad &&
        html`
          <g class="node-errors" transform=${`translate(${NODE.width - 6} 0)`}>
            <rect
              x=${-13 - 7 * short(node.errors).length}
              y="-9"
              width=${13 + 7 * short(node.errors).length}
              height="18"
              rx="9"
            />
            <text x=${-6.5 - 3.5 * short(node.errors).length} y="4" text-anchor="middle">
              ${short(node.errors)}
            </text>
          </g>
        `
      }
    </g>
  `;
}

const cut = name => (name.length > 18 ? `${name.slice(0, 17)}…` : name);

function useRoom() {
  const box = useRef(null);
  const [room, setRoom] = useState({ width: 1000, height: 700 });
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() =>
      setRoom({ width: box.current.clientWidth, height: box.current.clientHeight }),
    );
    observer.observe(box.current);
    // where it does not fit, its middle is seen first
    box.current.scrollLeft = (box.current.scrollWidth - box.current.clientWidth) / 2;
    return () => observer.disconnect();
  }, []);
  return [room, box];
}
