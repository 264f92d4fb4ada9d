// Runs before the first paint, so that a chosen theme never flashes the other one, and asks for what is shown first.
// Not a module: those wait.
'use strict';
(() => {
  try {
    const chosen = localStorage.getItem('swagent-theme');
    if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
  } catch {
    // storage is forbidden here: the system's theme it is
  }
  // the first answers are on their way while the modules are still loading
  const first = ['/api/status'];
  if (/^#?\/?(findings)?$/.test(location.hash)) first.push('/api/findings');
  if (/^#?\/?traces$/.test(location.hash)) first.push('/api/traces?limit=200');
  const ask = url =>
    fetch(url)
      .then(answer => (answer.ok ? answer.json() : null))
      .catch(() => null); // it will be asked for again, and then the error is shown
  window.early = new Map(first.map(url => [url, ask(url)]));
})();
