// Elements by a name, attributes and what is in them. Text is text: nothing that a server or a person wrote becomes markup.

export function element(name, ...parts) {
  const made = document.createElement(name);
  for (const part of parts.flat()) {
    if (part === null || part === undefined || part === false) continue;
    if (part instanceof Node || typeof part === "string" || typeof part === "number") { made.append(part); continue; }
    for (const [key, value] of Object.entries(part)) {
      if (value === false || value === null || value === undefined) continue;
      if (key in made && key !== "for" && typeof value !== "string") made[key] = value;
      else made.setAttribute(key, value === true ? "" : value);
    }
  }
  return made;
}

// An element of a drawing.
export function drawn(name, attributes, ...parts) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...parts);
  return made;
}

// Empties a place and fills it anew.
export function put(place, ...parts) {
  place.replaceChildren(...parts.flat().filter((part) => part !== null && part !== undefined && part !== false));
}
