// Runs before the first paint, so that a chosen theme never flashes the other one. Not a module: those wait.
'use strict';
(() => {
  try {
    const chosen = localStorage.getItem('swagent-theme');
    if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
  } catch {
    // storage is forbidden here: the system's theme it is
  }
})();
