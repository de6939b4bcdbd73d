import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { test } from 'vitest';

/** What gives the time, or waits for it, without the clock that is handed in. */
const forbidden: readonly (readonly [what: RegExp, instead: string])[] = [
  [/(?<![.\w])(?:setTimeout|setInterval)\(/, '`clock.after`, or `sleep` of #core'],
  [/(?:globalThis|global)\.(?:setTimeout|setInterval)\b/, '`clock.after`, or `sleep` of #core'],
  // `setImmediate` waits for a turn of the event loop, not for a time.
  [
    /import (?!\{ setImmediate(?: as \w+)? \})[^;]* from '(?:node:)?timers(?:\/promises)?'/,
    '#core',
  ],
  [/\bAbortSignal\.timeout\b/, '`createAbortScope` or `within` of #core'],
  [/\bDate\.now\b|\bnew Date\(\)/, '`clock.now`'],
  [/\bperformance\.now\b|\bprocess\.(?:hrtime|uptime)\b/, '`clock.monotonic`'],
  [/\bsystemClock\b/, 'a clock that is handed in'],
];

/** The composition roots, which hand the clock of the machine in: of the hub, and of a process of its own. */
const roots = ['hub', 'hub/app', 'hub/documentation/process/run-in-process.ts'];
const isExempt = (file: string) =>
  roots.includes(file) || [...roots, 'hub/core'].includes(dirname(file));

/** Without the comments that begin a line: they may name anything. */
const withoutComments = (source: string) =>
  source.replaceAll(/^\s*(?:\/\*[^]*?\*\/|\/\/.*$)/gm, '');

/** Methods of sockets and responses are declared, in types and classes, by the names of timers. */
const withoutMethods = (source: string) => source.replaceAll(/^ *setTimeout\(\w+: .*$/gm, '');

test('time comes from the clock that is handed in, so that tests move it by hand', () => {
  for (const file of globSync('hub/**/*.ts')) {
    if (isExempt(file)) continue;
    const source = withoutMethods(withoutComments(readFileSync(file, 'utf8')));
    for (const [what, instead] of forbidden)
      assert.doesNotMatch(source, what, `${file}: use ${instead}`);
  }
});

test.each([
  'setTimeout(work, 5);',
  '  const timer = setInterval(() => {}, 5);',
  "import { setTimeout as delay } from 'node:timers/promises';",
  "import { setImmediate, setTimeout } from 'node:timers/promises';",
  'fetch(url, { signal: AbortSignal.timeout(5) });',
  'const at = Date.now();',
  'needs({ now: Date.now });',
  'const at = new Date();',
  'const at = performance.now();',
  'createThing({ clock: systemClock });',
])('%s is found', source => {
  assert.ok(forbidden.some(([what]) => what.test(withoutMethods(withoutComments(source)))));
});

test.each([
  'socket.setTimeout(5);',
  '  setTimeout(delayMs: number, stalled: () => void): void {',
  'setImmediate(flush);',
  "import { setImmediate as nextTurn } from 'node:timers/promises';",
  '// As Date.now() does.',
  'new Date(clock.now());',
  'clock.after(5, work);',
])('%s is not', source => {
  assert.ok(!forbidden.some(([what]) => what.test(withoutMethods(withoutComments(source)))));
});
