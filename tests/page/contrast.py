"""The contrast of texts to what is behind them, measured in the browser."""

from __future__ import annotations

from playwright.sync_api import Page

# WCAG 2: relative luminance, and its ratio; the ground is the nearest one that is not transparent
FAINT = """least => {
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const rgba = text => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const linear = share => (share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4);
  const channel = value => linear(value / 255);
  const luminance = ([red, green, blue]) => 0.2126 * channel(red) + 0.7152 * channel(green) + 0.0722 * channel(blue);
  const ground = element => {
    for (let at = element; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return rgba('white');
  };
  const found = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility({ opacityProperty: true })) continue;
    if (element.closest('svg, option, .bar-text.within, .out-of-sight, noscript')) continue;
    const style = getComputedStyle(element);
    const [one, other] = [luminance(rgba(style.color)), luminance(ground(element))].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (other + 0.05);
    const text = walker.currentNode.data.trim().slice(0, 30);
    if (ratio < least) found.add(`${ratio.toFixed(2)} ${element.className || element.tagName} ${text}`);
  }
  return [...found];
}"""


def faint_texts(page: Page, least: float = 4.5) -> list[str]:
    """The texts in sight whose contrast is below `least`."""
    found: list[str] = page.evaluate(FAINT, least)
    return found
