/** A call with its end and duration, in ms of the same clock. */
export type Call = { readonly endMs: number; readonly tookMs: number };

/** Time between the starts of two calls in ms. A call that takes longer delays the next one. */
export const paceMs = 10;

/** Calls to a neighbour behind the hub, and to the control beside it, made at the same time. */
type Pair = { readonly neighbour: readonly Call[]; readonly control: readonly Call[] };

/** Latencies (p99) in ms, and the limit for the neighbour. */
type Lateness = {
  readonly neighbour: number;
  readonly control: number;
  readonly quiet: { readonly neighbour: number; readonly control: number };
  /** Highest p99 that the neighbour may have. */
  readonly most: number;
};

/** Allowed p99 of a neighbour, as a multiple of its p99 in the quiet phase. */
const mostTimes = 3;

/**
 * Returns the latency of a neighbour when it is highest. Its p99 may be three times its own of the quiet phase, or
 * three times the control's of the same time if that is more.
 *
 * The control is the same server called by the same process, through another process that does nothing but relay. Load
 * of the machine, such as an engine that creates containers on two cores, delays both. The hub delays only the
 * neighbour, so if the hub blocks, the neighbour is late by all of that time, and the control is not.
 *
 * A fault may take many times as long as the quiet phase, and most of that time nothing happens. It is cut into
 * stretches that are at least as long as the quiet phase, and each is compared with the control of the same time: a
 * quiet stretch does not hide a delay by the hub, and load at another time does not excuse it.
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
 * Returns the p99 in ms that callers at a fixed pace would see. Calls are made one at a time, so a long call stands for
 * all calls that would have started during it, each of which waits for the rest of it. Without them a server that stops
 * for a second would be late only once.
 */
export function p99(calls: readonly Call[]): number {
  const waits: number[] = [];
  for (const { tookMs } of calls) for (let ms = tookMs; ms > 0; ms -= paceMs) waits.push(ms);
  waits.sort((a, b) => a - b);
  return waits[Math.min(waits.length - 1, Math.floor(waits.length * 0.99))] ?? 0;
}
