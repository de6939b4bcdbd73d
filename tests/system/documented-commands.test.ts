import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { commandLinesOf, userPages } from '#helpers/documented';
import { type Written, elsewhere } from './documented-elsewhere.ts';
import { openScene } from './documented-scene.ts';
import { configs, ownHubs, readers, sequences } from './documented-steps.ts';

/** Timeout of a command in ms. Each starts a Node process, and some start servers. */
const timeout = 90_000;
const withoutNpx = (line: string) => line.replaceAll('npx agenthub', 'agenthub');
const steps = [readers, ...Object.values(sequences), ...Object.values(ownHubs)].flat();
const lines = steps.map(({ line }) => line);

/** Normalizes the words of a command or a program, whether they are shell arguments or strings in a list. */
const wordsOf = (text: string) => ` ${text.replaceAll(/[^\w./:@=*~-]+/g, ' ').trim()} `;

/** Rewrites a documented command as a test has it. Throws if it does not begin with the program. */
function writtenAs(line: string, { program: [from, to] = ['', ''], values = {} }: Written): string {
  assert.ok(line.startsWith(from), `${line} does not begin with ${from}`);
  const words = line.slice(from.length).split(' ');
  return `${to} ${words.map(word => values[word] ?? word).join(' ')}`;
}

describe('the commands of the documentation', () => {
  const found = userPages.flatMap(commandLinesOf);
  const documented = new Set(found.map(({ line }) => withoutNpx(line)));
  const inBlocks = new Set(
    found.flatMap(({ line, isInSentence }) => (isInSentence ? [] : [withoutNpx(line)])),
  );

  test('are each run here, or named with the test that runs them or the reason why none does', () => {
    // A command in a sentence may be run here with more arguments.
    const isRun = (command: string) =>
      lines.some(
        line => line === command || (!inBlocks.has(command) && line.startsWith(`${command} `)),
      );
    const missing = [...documented].filter(
      command => !isRun(command) && elsewhere[command] === undefined,
    );
    const twice = Object.keys(elsewhere).filter(isRun);
    const gone = [...Object.keys(elsewhere), ...lines].filter(line => !documented.has(line));
    assert.deepEqual({ missing, twice, gone }, { missing: [], twice: [], gone: [] });
  });

  test.for(Object.entries(elsewhere))('%s', ([line, known]) => {
    if ('reason' in known) return assert.ok(known.reason.length > 10);
    const words = wordsOf(writtenAs(line, known));
    assert.ok(wordsOf(readFileSync(known.test, 'utf8')).includes(words), `${known.test}: ${words}`);
    return undefined;
  });
});

describe('run as documented', () => {
  let scene: Awaited<ReturnType<typeof openScene>>;
  beforeAll(async () => {
    scene = await openScene();
  });
  afterAll(async () => await scene?.[Symbol.asyncDispose]());

  test.concurrent.for(readers)('$line', { timeout }, async step => {
    await scene.run(step);
  });

  test.concurrent.for(Object.entries(sequences))('%s', { timeout }, async ([, sequence]) => {
    for (const step of sequence) await scene.run(step);
  });

  test.concurrent.for(Object.entries(ownHubs))('%s', { timeout }, async ([name, sequence]) => {
    const run = await scene.openHome(name.replaceAll(' ', '-'), configs[name]);
    for (const step of sequence) await run(step);
  });
});
