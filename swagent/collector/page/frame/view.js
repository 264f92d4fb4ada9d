// The front-end library, as one import. `html` makes text nodes of values: nothing that arrived is ever parsed as HTML.
import { h, render } from '../vendor/preact.js';
import htm from '../vendor/htm.js';

export const html = htm.bind(h);
export { render };
export { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../vendor/preact-hooks.js';
