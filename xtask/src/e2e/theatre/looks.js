// What is wrong with how the theatre's page is laid out, in words; an empty list if nothing is. The page is drawn once
// more, so that what is written on canvases is seen.
(() => {
  const wrong = [];
  const isNarrow = innerWidth < 700;
  const shown = (element) => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && getComputedStyle(element).visibility !== "hidden" && !element.closest("[hidden]");
  };
  const name = (element) => `${element.tagName.toLowerCase()}${element.id ? `#${element.id}` : ""} "${element.textContent.trim().slice(0, 30)}"`;
  if (document.documentElement.scrollWidth > innerWidth) wrong.push("it scrolls sideways");
  if (document.documentElement.scrollHeight > innerHeight) wrong.push("it scrolls downwards");
  // Small words, on the page and on canvases.
  const words = [...document.querySelectorAll("body *")].filter((element) => shown(element) && [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()));
  for (const element of words) {
    const size = Number.parseFloat(getComputedStyle(element).fontSize);
    if (size < 12) wrong.push(`${name(element)} has ${size} px`);
  }
  const drawn = CanvasRenderingContext2D.prototype;
  const fill = drawn.fillText;
  let written = 0;
  drawn.fillText = function (text, ...rest) {
    written++;
    const size = Number.parseFloat(this.font.match(/([\d.]+)px/)[1]);
    if (size < 12) wrong.push(`"${text}" is drawn with ${size} px`);
    return fill.call(this, text, ...rest);
  };
  dispatchEvent(new Event("resize"));
  drawn.fillText = fill;
  if (!written) wrong.push("nothing is written on any canvas");
  // Nothing reaches over anything else, or out of the page.
  const parts = [...document.querySelectorAll("header > *, #scenes > *, #sentences, #caption, .pane h2, .pane .line > *, .pane canvas, #tabs button, #wire, #plot, footer > *, #models > *")]
    .filter((element) => shown(element) && element.children.length < 4 && element.id !== "scenes" && element.id !== "models" && !element.matches(".space"));
  parts.forEach((one, index) => {
    const a = one.getBoundingClientRect();
    if (a.left < -0.5 || a.right > innerWidth + 0.5 || a.top < -0.5 || a.bottom > innerHeight + 0.5) wrong.push(`${name(one)} reaches out of the page`);
    if (one.matches("button, h2, #sentences, #caption") && (one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1)) wrong.push(`${name(one)} is cut off`);
    for (const other of parts.slice(index + 1)) {
      const b = other.getBoundingClientRect();
      const [wide, high] = [Math.min(a.right, b.right) - Math.max(a.left, b.left), Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)];
      if (wide > 1 && high > 1 && !one.contains(other) && !other.contains(one)) wrong.push(`${name(one)} and ${name(other)} overlap`);
    }
  });
  // Large enough for a finger.
  if (isNarrow) {
    for (const element of document.querySelectorAll("button, select")) {
      const box = element.getBoundingClientRect();
      if (shown(element) && (box.height < 43.5 || box.width < 43.5)) wrong.push(`${name(element)} has ${box.width} by ${box.height} px`);
    }
  }
  return wrong;
})()
