import { type Html, html } from './html.ts';

type Series = {
  readonly name: string;
  readonly tone: 'first' | 'second' | 'third';
  /** One value per time slot, oldest first; undefined for a slot without data. */
  readonly values: readonly (number | undefined)[];
};

type Chart = {
  readonly title: string;
  readonly summary: string;
  readonly kind: 'lines' | 'bars';
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  /** Age of the oldest value, in words. */
  readonly since: string;
};

/** Minimum upper end of the scale, so that small values do not fill the chart. */
const minLimit = 1;
const width = 400;
const height = 132;
const left = 52;
const right = 6;
const top = 8;
const bottom = 22;

/** Draws a chart as SVG without inline styles. */
export function chart(wanted: Chart): Html {
  const { title, summary, series, format, since } = wanted;
  const limit = niceLimit(
    Math.max(minLimit, ...series.flatMap(one => one.values.map(v => v ?? 0))),
  );
  const yOf = (value: number) => round(height - bottom - (value / limit) * (height - top - bottom));
  const ruled = [0, 0.5, 1].map(share => {
    const y = yOf(limit * share);
    return html`<line class="rule" x1="${left}" x2="${width - right}" y1="${y}" y2="${y}"/><text x="${left - 6}" y="${y + 3.5}" text-anchor="end">${format(limit * share)}</text>`;
  });
  const drawn = series.map(one => (wanted.kind === 'bars' ? bars(one, yOf) : lines(one, yOf)));
  const key =
    series.length > 1 &&
    html`<ul class="key">${series.map(({ name, tone }) => html`<li class="${tone}">${name}</li>`)}</ul>`;
  return html`<figure class="chart"><figcaption>${title}${key}</figcaption>
<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}: ${summary}">${ruled}${drawn}<text x="${left}" y="${height - 5}">${since}</text><text x="${width - right}" y="${height - 5}" text-anchor="end">now</text></svg></figure>`;
}

function bars({ tone, values }: Series, yOf: (value: number) => number): Html {
  const step = (width - left - right) / Math.max(1, values.length);
  const floor = yOf(0);
  return html`<g class="bars ${tone}">${values.map((value, index) => {
    if (value === undefined || value === 0) return undefined;
    const y = Math.min(yOf(value), floor - 1);
    return html`<rect x="${round(left + index * step + step * 0.1)}" y="${y}" width="${round(step * 0.8)}" height="${round(floor - y)}"/>`;
  })}</g>`;
}

/** Draws a line. A value between two missing ones becomes a dot. */
function lines({ tone, values }: Series, yOf: (value: number) => number): Html {
  const step = (width - left - right) / Math.max(1, values.length);
  let path = '';
  let isDown = false;
  const dots: Html[] = [];
  for (const [index, value] of values.entries()) {
    if (value !== undefined) {
      const x = round(left + (index + 0.5) * step);
      const y = yOf(value);
      path += `${isDown ? 'L' : 'M'}${x} ${y}`;
      if (!isDown && values[index + 1] === undefined)
        dots.push(html`<circle cx="${x}" cy="${y}" r="1.8"/>`);
    }
    isDown = value !== undefined;
  }
  return html`<g class="lines ${tone}"><path d="${path}"/>${dots}</g>`;
}

const round = (value: number) => Math.round(value * 10) / 10;

/** The smallest of 1, 2 and 5 times a power of ten that is at least `value`. */
function niceLimit(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, Number.MIN_VALUE)));
  const factor = [1, 2, 5, 10].find(one => one * power >= value) ?? 10;
  return factor * power;
}
