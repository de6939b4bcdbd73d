import type { FleetStart } from './fleet-start.ts';
import type { Growth } from './growth.ts';
import { largeSizes } from './growth.ts';
import type { ListSpeed } from './list-speed.ts';
import type { Comparison, Figures } from './relay-speed.ts';
import type { RuntimeKind, SubjectName } from './subjects/subjects.ts';

/** Results of one run of the benchmark. */
export type Findings = {
  readonly comparisons: readonly Comparison[];
  /** Resident memory in MB with 20 servers running and no calls. */
  readonly idleMb: ReadonlyMap<RuntimeKind, number | undefined>;
  readonly growth: readonly Growth[];
  readonly list: ListSpeed;
  readonly sessionsMb: number | undefined;
  readonly startMs: number | undefined;
  /** Start times of packaged servers; undefined if there are none. */
  readonly fleetStart: FleetStart | undefined;
};

type Seen = {
  /** Measured value; undefined if it could not be measured. */
  readonly value: number | undefined;
  readonly unit: 'x' | 'MB' | 'ms';
  /** Values that the figure was computed from. */
  readonly from?: string;
};

/** Limit that must be met, and a stricter one that is aimed at, if any. */
type Bounds = readonly [must: number, ambitious?: number];

type Choose = (figures: Figures) => number | undefined;
const speed: Choose = figures => figures.callsPerSecond;
const cpu: Choose = figures => figures.cpuUs;
const alone: Choose = figures => figures.p50Ms;

/** Returns a line for each promised limit, with the measured value. */
export function gateLines(findings: Findings): readonly string[] {
  const { comparisons, list } = findings;
  const at = (runtime: RuntimeKind, concurrency: number, bytes = 200) =>
    comparisons.find(
      ({ runtime: of, job }) =>
        of === runtime && job.concurrency === concurrency && job.bytes === bytes,
    )?.figures;
  const attached = at('docker', 32);
  const process = at('process', 32);
  const large = at('process', 32, 20_000);
  const lone = at('docker', 1);
  const loneMs = (name: SubjectName) => lone?.get(name)?.p50Ms;

  return [
    atLeast(
      'calls/s at 32, attached, against supergateway on docker run -i',
      ratio(attached, 'supergateway', speed),
      [5, 7],
    ),
    atLeast(
      'calls/s at 32, attached, against the floor',
      ratio(attached, 'floor', speed),
      [0.33, 0.42],
    ),
    atLeast(
      'calls/s at 32, child process, against the floor',
      ratio(process, 'floor', speed),
      [0.5, 0.7],
    ),
    atLeast(
      'calls/s at 32, child process, against supergateway',
      ratio(process, 'supergateway', speed),
      [5, 8],
    ),
    atMost(
      'CPU per call at 32, attached, against the floor',
      ratio(attached, 'floor', cpu),
      [2.5, 1.8],
    ),
    atMost(
      'p50 alone, attached, against floor + bare attach',
      quotient(loneMs('hub'), sum(loneMs('floor'), loneMs('direct'))),
      [1.6, 1.35],
    ),
    atMost(
      'p50 alone, attached, against supergateway on docker run -i',
      ratio(lone, 'supergateway', alone),
      [0.75, 0.6],
    ),
    atLeast(
      '20 KB results at 32, child process, against supergateway',
      ratio(large, 'supergateway', speed),
      [2.5, 3.5],
    ),
    ...Array.from(findings.idleMb, ([runtime, value]) =>
      atMost(`idle memory with 20 servers, ${runtime}`, { value, unit: 'MB' }, [110, 90]),
    ),
    ...Array.from(findings.idleMb.keys(), runtime => {
      const value = at(runtime, 32)?.get('hub')?.residentMb;
      return atMost(`memory under load at 32, ${runtime}`, { value, unit: 'MB' }, [200, 130]);
    }),
    atMost(
      'hub start to first call, child process',
      { value: findings.startMs, unit: 'ms' },
      [400, 200],
    ),
    atMost(
      '20 packaged servers from stopped to running, against docker start and their own boot',
      quotient(findings.fleetStart?.hubMs, findings.fleetStart?.aloneMs, 0),
      [1.5],
    ),
    ...findings.growth.map(linear),
    atLeast(
      `tools/list of 1,000 tools at 32, against the same ${list.bytes} bytes ready`,
      quotient(list.hubPerSecond, list.staticPerSecond, 0),
      [0.8],
    ),
    atMost(
      '20 open sessions with their event streams add',
      { value: findings.sessionsMb, unit: 'MB' },
      [10],
    ),
  ];
}

/**
 * Compares the cost of a byte of the largest result with that of the smallest. The cost is linear if they are nearly
 * equal: large results leave the CPU caches. Copying all received bytes for each chunk would cost ten times as much.
 */
function linear({ runtime, nsPerByte }: Growth): string {
  const [least = 0] = largeSizes;
  const most = Math.max(...largeSizes);
  const from = largeSizes
    .map(bytes => `${bytes / 1e6} MB ${nsPerByte.get(bytes)?.toFixed(1)} ns`)
    .join(', ');
  const seen = { ...quotient(nsPerByte.get(most), nsPerByte.get(least)), from };
  return atMost(`time per byte of a 10 MB result against one of 1 MB, ${runtime}`, seen, [2]);
}

/** Returns the ratio of the hub's figure to that of another subject. */
function ratio(
  figures: ReadonlyMap<SubjectName, Figures> | undefined,
  other: SubjectName,
  choose: Choose,
): Seen {
  const of = (name: SubjectName) => {
    const found = figures?.get(name);
    return found && choose(found);
  };
  return quotient(of('hub'), of(other), choose === alone ? 2 : 0);
}

function quotient(hub: number | undefined, other: number | undefined, digits = 2): Seen {
  if (hub === undefined || other === undefined || other === 0)
    return { value: undefined, unit: 'x' };
  const from = `${hub.toFixed(digits)} against ${other.toFixed(digits)}`;
  return { value: hub / other, unit: 'x', from };
}

const sum = (a: number | undefined, b: number | undefined) =>
  a === undefined || b === undefined ? undefined : a + b;

const atLeast = (name: string, seen: Seen, bounds: Bounds) =>
  line(name, seen, bounds, bound => (seen.value ?? 0) >= bound);

const atMost = (name: string, seen: Seen, bounds: Bounds) =>
  line(name, seen, bounds, bound => (seen.value ?? Infinity) <= bound);

function line(
  name: string,
  { value, unit, from }: Seen,
  [must, ambitious]: Bounds,
  meets: (bound: number) => boolean,
): string {
  const written = (figure: number) =>
    unit === 'x' ? `x${figure.toFixed(2)}` : `${figure.toFixed(unit === 'MB' ? 1 : 0)} ${unit}`;
  const aim = ambitious === undefined ? '' : `, ambitious ${written(ambitious)}`;
  const verdict =
    value === undefined
      ? 'not measured'
      : ambitious !== undefined && meets(ambitious)
        ? 'ambitious'
        : meets(must)
          ? 'must'
          : 'MISSED';
  const figure = value === undefined ? '-' : written(value);
  const made = from === undefined ? '' : `: ${from}`;
  return `  ${verdict.padEnd(13)} ${figure.padEnd(9)} ${name} (must ${written(must)}${aim})${made}`;
}
