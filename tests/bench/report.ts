import type { Comparison, Figures } from './relay-speed.ts';
import type { SubjectName } from './subjects/subjects.ts';

const columns = ['', 'calls/s', 'p50 ms', 'p99 ms', 'CPU us', 'engine us', 'RSS MB', 'wrong'];
const widths = [14, 10, 9, 9, 9, 11, 9, 7];

/** Returns the absolute figures of one job, then the ratios of the hub to the others. */
export function comparisonText({ runtime, job, figures }: Comparison): string {
  const lines = [
    `${runtime} runtime, ${job.bytes}-byte results, ${job.concurrency} at once`,
    row(columns),
    ...[...figures].map(([name, of]) => row(cells(name, of))),
  ];
  const hub = figures.get('hub');
  for (const [name, of] of figures)
    if (hub && name !== 'hub') lines.push(`  hub : ${name.padEnd(12)} ${ratios(hub, of)}`);
  return lines.join('\n');
}

function cells(name: SubjectName, of: Figures): readonly string[] {
  return [
    name,
    of.callsPerSecond.toFixed(0),
    of.p50Ms.toFixed(2),
    of.p99Ms.toFixed(2),
    of.cpuUs?.toFixed(0) ?? '-',
    of.engineCpuUs?.toFixed(0) ?? '-',
    of.residentMb?.toFixed(0) ?? '-',
    String(of.wrong),
  ];
}

function ratios(hub: Figures, other: Figures): string {
  const parts = [
    `calls/s x${(hub.callsPerSecond / other.callsPerSecond).toFixed(2)}`,
    `p50 x${(hub.p50Ms / other.p50Ms).toFixed(2)}`,
    `p99 x${(hub.p99Ms / other.p99Ms).toFixed(2)}`,
  ];
  if (hub.cpuUs !== undefined && other.cpuUs)
    parts.push(`CPU per call x${(hub.cpuUs / other.cpuUs).toFixed(2)}`);
  return parts.map(part => part.padEnd(16)).join(' ');
}

const row = (texts: readonly string[]) =>
  texts
    .map((text, index) =>
      index === 0 ? text.padEnd(widths[index] ?? 0) : text.padStart(widths[index] ?? 0),
    )
    .join('');
