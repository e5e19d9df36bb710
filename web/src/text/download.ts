// Copies and downloads.

export function save(name: string, type: string, content: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** A table as CSV. Cells that a spreadsheet would take for a formula are made text. */
export function csv(rows: (string | number)[][]): string {
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

function cell(value: string | number): string {
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const SVG = "http://www.w3.org/2000/svg";

/** A drawing with its colours written into it, as a separate file. */
export function svgText(drawing: SVGSVGElement): string {
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  const originals = [drawing, ...drawing.querySelectorAll<SVGElement>("*")];
  [copy, ...copy.querySelectorAll<SVGElement>("*")].forEach((element, place) => {
    const style = getComputedStyle(originals[place]!);
    for (const name of ["fill", "stroke", "stroke-width", "font-size", "font-family", "opacity"]) {
      element.setAttribute(name, style.getPropertyValue(name));
    }
    if (element instanceof SVGRectElement) element.setAttribute("height", style.height);
    const tip = element.matches("g[aria-label]") && element.querySelector("title") === null ? element.getAttribute("aria-label") : null;
    if (tip !== null) element.append(Object.assign(document.createElementNS(SVG, "title"), { textContent: tip }));
    element.removeAttribute("class");
  });
  copy.setAttribute("xmlns", SVG);
  const { width, height } = drawing.getBoundingClientRect();
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  return new XMLSerializer().serializeToString(copy);
}
