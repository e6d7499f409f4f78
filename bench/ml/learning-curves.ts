/** Draws accuracy against the number of examples, one panel per data set, with the batch model's accuracy as a line. */

export interface Curve {
  name: string;
  /** Accuracy of the better batch model, in %. */
  batch: number;
  points: { examples: number; accuracy: number; ece: number }[];
}

const panel = { width: 270, height: 190, left: 40, top: 34, right: 18, bottom: 34 };
const columns = 3;

export function drawCurves(curves: readonly Curve[]): string {
  const rows = Math.ceil(curves.length / columns);
  const [width, height] = [columns * panel.width, rows * panel.height];
  const panels = curves.map((curve, i) => {
    const [x, y] = [(i % columns) * panel.width, Math.floor(i / columns) * panel.height];
    return `<g transform="translate(${x} ${y})">${drawPanel(curve)}</g>`;
  });
  const style =
    'text{font:12px system-ui,sans-serif;fill:#333}.t{font-weight:600;font-size:13px}.g{stroke:#8884}.b{stroke:#c0622b;stroke-dasharray:4 4}' +
    '.c{fill:none;stroke:#2f6fdb;stroke-width:2}circle{fill:#2f6fdb}@media(prefers-color-scheme:dark){text{fill:#ddd}.c{stroke:#6ea0ff}circle{fill:#6ea0ff}}';
  const title = 'Accuracy in % over the number of examples; dashed: the better batch model with all of them';
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}"><title>${title}</title><style>${style}</style>${panels.join('')}</svg>\n`;
}

function drawPanel({ name, batch, points }: Curve): string {
  const { width, height, left, top, right, bottom } = panel;
  const low = Math.floor(Math.min(...points.map(({ accuracy }) => accuracy), batch) / 10) * 10;
  const [first, last] = [points[0]?.examples ?? 1, points.at(-1)?.examples ?? 1];
  const x = (examples: number) =>
    left +
    ((Math.log(examples) - Math.log(first)) / (Math.log(last) - Math.log(first))) * (width - left - right);
  const y = (accuracy: number) => top + (1 - (accuracy - low) / (100 - low)) * (height - top - bottom);
  const marks = [low, (low + 100) / 2, 100].map(
    (mark) =>
      `<line class="g" x1="${left}" x2="${width - right}" y1="${y(mark)}" y2="${y(mark)}"/><text x="${left - 6}" y="${y(mark) + 4}" text-anchor="end">${mark}</text>`,
  );
  const line = points.map(({ examples, accuracy }) => `${x(examples).toFixed(1)},${y(accuracy).toFixed(1)}`);
  const dots = line.map((point) => {
    const [cx, cy] = point.split(',');
    return `<circle cx="${cx}" cy="${cy}" r="3"/>`;
  });
  const ends = [first, last].map(
    (examples, i) =>
      `<text x="${x(examples)}" y="${height - 14}" text-anchor="${i === 0 ? 'start' : 'end'}">${examples.toLocaleString('en')}</text>`,
  );
  const reached = points.at(-1)?.accuracy ?? 0;
  return (
    `<text class="t" x="${left}" y="18">${name}</text><text x="${width - right}" y="18" text-anchor="end">${reached.toFixed(1)} (${batch.toFixed(1)})</text>` +
    `${marks.join('')}<line class="b" x1="${left}" x2="${width - right}" y1="${y(batch)}" y2="${y(batch)}"/>` +
    `<polyline class="c" points="${line.join(' ')}"/>${dots.join('')}${ends.join('')}`
  );
}
