import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'vitest';

const module = new URL('../../../hub/documentation/process/give-way.ts', import.meta.url).href;
const script = `
  const { giveWay } = await import('${module}');
  giveWay();
  const { getPriority } = await import('node:os');
  const { readFileSync } = await import('node:fs');
  let group = 'none';
  try { group = readFileSync('/proc/self/autogroup', 'utf8'); } catch {}
  process.stdout.write(getPriority() + ' ' + group);
`;

test('a process gives way, and so does its session where Linux groups processes by theirs', () => {
  const [priority, group] = execFileSync('setsid', [
    process.execPath,
    '--input-type=module',
    '--eval',
    script,
  ])
    .toString()
    .trim()
    .split(/ (?=none|\/)/);
  assert.equal(priority, '5');
  assert.match(group ?? '', /^none$|nice 5$/);
});
