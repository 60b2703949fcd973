import type { Variant } from "./plan.ts";
import { ratioOf, type Samples } from "./rounds.ts";
import { digits } from "./tables.ts";

const WIDTH = 860;
const LABEL = 190;
const BAR = 16;
const GAP = 5;
const HEAD = 34;
const PANEL_GAP = 26;
const SCALE = WIDTH - LABEL - 70;

const PANELS: readonly { readonly workload: string; readonly figure: string; readonly title: string }[] = [
  { workload: "W1", figure: "us", title: "W1 one text turn" },
  { workload: "W2", figure: "us", title: "W2 ten tool steps" },
  { workload: "W3", figure: "us", title: "W3 eight parallel tools" },
  { workload: "W4", figure: "us", title: "W4 5,000 deltas" },
  { workload: "W5", figure: "wallMs", title: "W5 1,000 concurrent runs" },
];

const toXml = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

interface Bar {
  readonly label: string;
  readonly ratio: number;
  readonly isOurs: boolean;
}

function barOf({ label, ratio, isOurs }: Bar, top: number, largest: number): string {
  const width = Math.max(1, (Math.log10(Math.max(ratio, 1)) / Math.log10(largest)) * SCALE);
  const middle = top + BAR - 4;
  return [
    `<text x="${LABEL - 8}" y="${middle}" text-anchor="end"${isOurs ? ' font-weight="bold"' : ""}>${toXml(label)}</text>`,
    `<rect x="${LABEL}" y="${top}" width="${width.toFixed(1)}" height="${BAR}" rx="2" fill="${isOurs ? "#2563eb" : "#9ca3af"}"/>`,
    `<text x="${(LABEL + width + 6).toFixed(1)}" y="${middle}">${digits(ratio)}</text>`,
  ].join("");
}

/** Ratios to the bare loop on a logarithmic scale, shorter is better; one panel per workload. */
export function drawChart(samples: Samples, variants: readonly Variant[]): string {
  const panels = PANELS.map(({ workload, figure, title }) => {
    const bars = variants
      .filter(({ name }) => name !== "bare")
      .map(({ name, label }): Bar => ({ label, ratio: ratioOf(samples, workload, name, figure), isOurs: name.startsWith("awaken") }))
      .filter(({ ratio }) => Number.isFinite(ratio));
    return { title, bars };
  }).filter(({ bars }) => bars.length > 0);
  const largest = Math.max(10, ...panels.flatMap(({ bars }) => bars.map(({ ratio }) => ratio)));
  let top = 44;
  const parts: string[] = [];
  for (const { title, bars } of panels) {
    parts.push(`<text x="0" y="${top + 16}" font-weight="bold">${toXml(title)}</text>`);
    bars.forEach((bar, index) => {
      parts.push(barOf(bar, top + HEAD + index * (BAR + GAP) - 8, largest));
    });
    top += HEAD + bars.length * (BAR + GAP) + PANEL_GAP;
  }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${top}" viewBox="0 0 ${WIDTH} ${top}" role="img"`,
    ' aria-labelledby="title" font-family="system-ui, sans-serif" font-size="12" fill="#374151">',
    '<title id="title">Cost of a run as a multiple of a bare loop</title>',
    `<rect width="${WIDTH}" height="${top}" fill="#ffffff"/>`,
    '<text x="0" y="20" font-size="14">Cost of a run as a multiple of a bare loop: shorter is better, logarithmic</text>',
    ...parts,
    "</svg>\n",
  ].join("\n");
}
