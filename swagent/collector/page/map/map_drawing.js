// The map, drawn.
import { html, useEffect, useMemo, useState } from '../frame/view.js';
import { colourClass } from '../parts/colours.js';
import { duration, percent, short } from '../parts/format.js';
import { Icon } from '../parts/icons.js';
import { COMPACT, MANY, ROOMY, arrange, fit } from './map_layout.js';
import { cutToWidth } from './map_names.js';
import { useKeys } from '../frame/keys.js';
import { useView } from './map_view.js';
import { useWide } from '../frame/theme.js';

const CROWD = 18; // lines from which on those of what is chosen only have their numbers
const PAN_PX = 80;
const SIDES = 22 + 10; // of a box, beside its name
const PEER_SIDES = 2 * 16;

export const isCrowded = data => data.edges.length >= CROWD;

export function Drawing({ data, chosen, onChoose }) {
  const wide = useWide();
  const size = wide ? (isCrowded(data) ? MANY : ROOMY) : COMPACT;
  // the numbers change all the time, the places only when a node or an edge is new
  const shape = JSON.stringify([
    data.nodes.map(each => each.name).sort(),
    data.edges.map(each => [each.from, each.to]).sort(),
  ]);
  const both = useMemo(() => ['LR', 'TB'].map(rankdir => arrange(data, rankdir, size)), [shape, size]);
  const [better, setBetter] = useState(0);
  const places = both[better];
  const { box, room, view, hands, pan, reveal, larger, smaller, fit: seeAll } = useView(places, size.least);
  useEffect(() => {
    if (room) setBetter(fit(both[1], room) > fit(both[0], room) ? 1 : 0);
  }, [both, room]);
  const [pointed, setPointed] = useState(null);
  const sought = places.nodes.get(chosen);
  useEffect(() => {
    if (sought && room) reveal(sought);
  }, [chosen, sought, room]);
  useKeys({
    '+': larger,
    '=': larger,
    '-': smaller,
    0: seeAll,
    ArrowLeft: () => pan(PAN_PX, 0),
    ArrowRight: () => pan(-PAN_PX, 0),
    ArrowUp: () => pan(0, PAN_PX),
    ArrowDown: () => pan(0, -PAN_PX),
  });
  const busiest = Math.max(1, ...data.edges.map(each => each.calls));
  const ends = (edge, name) => edge.from === name || edge.to === name;
  const near = name => !chosen || name === chosen || data.edges.some(each => ends(each, name) && ends(each, chosen));
  return html`
    <div class="map-frame">
      <div class="map-box" ref=${box} ...${hands}>
        <svg class="map-drawing" role="group" aria-label="Service map">
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
        <g transform=${`translate(${view.x.toFixed(1)} ${view.y.toFixed(1)}) scale(${view.scale.toFixed(4)})`}>
        ${data.edges.map(
          edge => html`
            <${Edge}
              key=${`${edge.from}\n${edge.to}`}
              edge=${edge}
              place=${places.edges.get(`${edge.from}\n${edge.to}`)}
              isLabelled=${size === ROOMY || (size === MANY && (ends(edge, chosen) || ends(edge, pointed)))}
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
              size=${size}
              chosen=${node.name === chosen}
              dim=${!near(node.name)}
              onChoose=${() => onChoose(node.name === chosen ? null : node.name)}
              onPoint=${setPointed}
              onFocus=${() => reveal(places.nodes.get(node.name))}
            />
          `,
        )}
        </g>
        </svg>
      </div>
      <div class="map-tools" role="group" aria-label="Size of the map">
        <button type="button" class="plain" onClick=${larger} aria-label="Larger (+)" title="Larger (+)">
          <${Icon} name="plus" />
        </button>
        <button type="button" class="plain" onClick=${smaller} aria-label="Smaller (-)" title="Smaller (-)">
          <${Icon} name="minus" />
        </button>
        <button type="button" class="plain" onClick=${seeAll} aria-label="See all of it (0)" title="See all of it (0)">
          <${Icon} name="fit" />
        </button>
      </div>
    </div>
  `;
}

function Edge({ edge, place, share, dim, isLabelled }) {
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
      ${
        isLabelled &&
        html`
          <${EdgeText} edge=${edge} place=${place} />
        `
      }
    </g>
  `;
}

function EdgeText({ edge, place }) {
  const bad = edge.errors > 0;
  return html`
    <g transform=${`translate(${place.x} ${place.y})`}>
      <rect class="edge-ground" x="-54" y=${bad ? -17 : -10} width="108" height=${bad ? 34 : 20} rx="5" />
      <text class="edge-text" text-anchor="middle" y=${bad ? -3 : 4}>
        ${short(edge.calls_per_minute)}/min<tspan class="soft">${' '}· ${duration(edge.p50)}</tspan>
      </text>
      ${
        bad &&
        html`
          <text class="edge-text error" text-anchor="middle" y="12">${percent(edge.error_rate)} failed</text>
        `
      }
    </g>
  `;
}

function Box({ node, place, size, chosen, dim, onChoose, onPoint, onFocus }) {
  const { width, height } = size.node;
  const bad = node.errors > 0;
  const peer = node.kind === 'peer';
  const shown = cutToWidth(node.name, width - (peer ? PEER_SIDES : SIDES));
  const calls = `${short(node.calls)} ${node.calls === 1 ? 'call' : 'calls'}`;
  const text = node.p50 === null || size === COMPACT ? calls : `${calls} · ${duration(node.p50)}`;
  // the visible text comes first: people who control the page by voice say that
  const whole = shown === node.name ? null : node.name;
  const failed = bad ? ` ${short(node.errors)} ${node.errors === 1 ? 'error' : 'errors'}` : '';
  const label = `${whole ? `${whole} ` : ''}${shown} ${text}${failed}, ${node.kind}`;
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
      transform=${`translate(${place.x - width / 2} ${place.y - height / 2})`}
      role="button"
      tabindex="0"
      aria-pressed=${chosen ? 'true' : 'false'}
      aria-label=${label}
      onClick=${onChoose}
      onKeyDown=${press}
      onFocus=${onFocus}
      onPointerEnter=${() => onPoint(node.name)}
      onPointerLeave=${() => onPoint(null)}
      data-node=${node.name}
    >
      ${
        whole &&
        html`
          <title>${whole}</title>
        `
      }${' '}
      <rect class="node-ground" width=${width} height=${height} rx=${peer ? height / 2 : 10} />
      ${
        !peer &&
        html`
          <rect class="node-stripe" x="9" y="11" width="4" height=${height - 22} rx="2" />
        `
      }
      <text
        class="node-name"
        x=${peer ? width / 2 : 22}
        y=${height / 2 - 4}
        text-anchor=${peer ? 'middle' : 'start'}
      >
        ${shown}
      </text>${' '}
      <text
        class="node-text"
        x=${peer ? width / 2 : 22}
        y=${height / 2 + 13}
        text-anchor=${peer ? 'middle' : 'start'}
      >
        ${text}
      </text>${' '}
      ${
        bad &&
        html`
          <g class="node-errors" transform=${`translate(${width - 6} 0)`}>
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
