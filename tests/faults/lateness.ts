/** A call that was made, in milliseconds of one clock. */
export type Call = { readonly endMs: number; readonly tookMs: number };

/** Between the beginnings of two calls. One that takes longer delays the next. */
export const paceMs = 10;

/** The calls of a neighbour behind the hub, and those of the control beside it, at the same time. */
type Pair = { readonly neighbour: readonly Call[]; readonly control: readonly Call[] };

/** In milliseconds. */
type Lateness = {
  readonly neighbour: number;
  readonly control: number;
  readonly quiet: { readonly neighbour: number; readonly control: number };
  /** What the neighbour may have. */
  readonly most: number;
};

/** How many times as late as in the quiet phase a neighbour may be. */
const mostTimes = 3;

/**
 * How late a neighbour is when it is latest. Its p99 may be three times its own of the quiet phase, or three
 * times the control's of the same time where that is more.
 *
 * The control is the same server called by the same process, through another that does nothing but relay. What the
 * machine does, such as an engine that creates containers on two cores, delays both; what the hub does delays the
 * neighbour only, so that a hub which blocks is late by all of that time, and the control is not.
 *
 * A fault may take many times as long as the quiet phase, and most of that time nothing happens. It is cut into
 * stretches that are as long as the quiet phase or longer, each of which is compared with the control of just
 * that time: neither a quiet end hides the hub's part, nor the machine's at another time excuses it.
 */
export function latenessOf(quiet: Pair, during: Pair): Lateness {
  const still = { neighbour: p99(quiet.neighbour), control: p99(quiet.control) };
  const all = [...during.neighbour, ...during.control];
  const beginMs = Math.min(...all.map(beginOf));
  const tookMs = Math.max(...all.map(({ endMs }) => endMs)) - beginMs;
  const stretches = Math.max(1, Math.floor(tookMs / lengthOf(quiet.neighbour)));
  const found = Array.from({ length: stretches }, (_, index): Lateness => {
    const within = ({ endMs }: Call) =>
      Math.min(stretches - 1, Math.floor(((endMs - beginMs) / tookMs) * stretches)) === index;
    const control = p99(during.control.filter(within));
    return {
      neighbour: p99(during.neighbour.filter(within)),
      control,
      quiet: still,
      most: mostTimes * Math.max(still.neighbour, control),
    };
  });
  return found.reduce((worst, one) =>
    one.neighbour / one.most > worst.neighbour / worst.most ? one : worst,
  );
}

const beginOf = ({ endMs, tookMs }: Call) => endMs - tookMs;
const lengthOf = (calls: readonly Call[]) =>
  Math.max(...calls.map(({ endMs }) => endMs)) - Math.min(...calls.map(beginOf));

/**
 * The p99 that callers at a fixed pace would see, in milliseconds. Calls are made one at a time, so that a call
 * which takes as long as many stands for those that would have been made meanwhile, each of them waiting for what
 * is left of it. Without them a server that stops for a second would be late once.
 */
export function p99(calls: readonly Call[]): number {
  const waits: number[] = [];
  for (const { tookMs } of calls) for (let ms = tookMs; ms > 0; ms -= paceMs) waits.push(ms);
  waits.sort((a, b) => a - b);
  return waits[Math.min(waits.length - 1, Math.floor(waits.length * 0.99))] ?? 0;
}
