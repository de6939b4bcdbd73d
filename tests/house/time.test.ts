import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { test } from 'vitest';

/** Functions that read the time or wait without the injected clock, and their replacements. */
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

/** Composition roots, which inject the system clock: of the hub, and of a child process. */
const roots = ['hub', 'hub/app', 'hub/documentation/process/run-in-process.ts'];
const isExempt = (file: string) =>
  roots.includes(file) || [...roots, 'hub/core'].includes(dirname(file));

/** Removes comments at the beginning of a line, which may name these functions. */
const withoutComments = (source: string) =>
  source.replaceAll(/^\s*(?:\/\*[^]*?\*\/|\/\/.*$)/gm, '');

/** Removes declarations of the method `setTimeout` of sockets and responses, in types and classes. */
const withoutMethods = (source: string) => source.replaceAll(/^ *setTimeout\(\w+: .*$/gm, '');

test('time comes from the injected clock, so that tests can control it', () => {
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
])('%s is found as a use of real time', source => {
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
])('%s is not found as a use of real time', source => {
  assert.ok(!forbidden.some(([what]) => what.test(withoutMethods(withoutComments(source)))));
});
