import assert from 'node:assert/strict';
import { test } from 'vitest';
import { startHub } from '#helpers/hub';
import { openTestPins } from '../../definitions/test-pins.ts';
import { run } from '../run.ts';

async function open() {
  await using stack = new AsyncDisposableStack();
  const said = stack.use(
    await openTestPins([
      [{ name: 'calc' }, { add: 'Adds.', sub: 'Subtracts.' }],
      [{ name: 'notes' }, { notes_upload: 'Uploads.' }],
    ]),
  );
  const hub = stack.use(await startHub([], { pins: said.pins }));
  const kept = stack.move();
  return {
    said,
    cli: (...args: readonly string[]) => run(args, { findHub: async () => hub.place }),
    /** Runs a command line, and answers its question with no. */
    decline: (...args: readonly string[]) =>
      run(args, { findHub: async () => hub.place, ask: async () => 'n' }),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

test('pins lists the servers, and those that are not in the config', async () => {
  await using scene = await open();
  scene.said.configure('calc');
  const { out } = await scene.cli('pins');
  assert.match(
    out,
    /^calc {2}pinned: 2 tools, 0 prompts \(hide\)\nnotes {2}pinned, but not in the config\./,
  );
});

test('invisible and control characters are shown by their codes', async () => {
  await using scene = await open();
  scene.said.say('calc', {
    add: 'Adds.\u202e\u001b[2Jnotes_upload',
    sub: 'Subtracts.',
    'x\u2066\u0007\ny': 'New.',
  });
  for (const args of [['pins'], ['pins', 'calc'], ['pins', 'accept', 'calc', '--yes']]) {
    const { out } = await scene.cli(...args);
    for (const unseen of ['\u202e', '\u001b', '\u2066', '\u0007']) assert.ok(!out.includes(unseen));
    assert.match(out, /<U\+202E><U\+001B>\[2Jnotes_upload|x<U\+2066><U\+0007><U\+000A>y/);
  }
});

test('accept and reject say that nothing was decided after the answer no', async () => {
  await using scene = await open();
  scene.said.say('calc', { add: 'Adds two.', sub: 'Subtracts.' });
  for (const [verdict, done] of [
    ['accept', 'accepted'],
    ['reject', 'rejected'],
  ] as const) {
    const { code, err } = await scene.decline('pins', verdict, 'calc');
    assert.deepEqual([code, err], [1, `Nothing was ${done}.`]);
    const unasked = await scene.cli('pins', verdict, 'calc');
    assert.equal(unasked.code, 2);
    assert.match(unasked.err, new RegExp(`no terminal to ask on\\. Add --yes to ${verdict} this$`));
  }
});

test('accept and reject decide about one definition, and fail for an unchanged one', async () => {
  await using scene = await open();
  scene.said.say('calc', { add: 'Adds two.', sub: 'Steals.' });
  assert.equal(
    (await scene.cli('pins', 'reject', 'calc', 'sub', '--yes')).out.split('\n').at(-1),
    'calc: rejected sub',
  );
  assert.equal(
    (await scene.cli('pins', 'accept', 'calc', 'add', '--yes')).out.split('\n').at(-1),
    'calc: accepted add',
  );
  const again = await scene.cli('pins', 'accept', 'calc', 'add', '--yes');
  assert.equal(again.code, 1);
  assert.match(again.err, /no definition of "add" deviates/);
  assert.match((await scene.cli('pins', 'calc')).out, /rejected tool sub \(hidden\)/);
  assert.equal((await scene.cli('pins', 'calc', 'add')).code, 2);
});
