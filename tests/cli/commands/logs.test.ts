import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { jsonOf, withHub } from '../hub.ts';

const { cli } = withHub();

describe('logs', () => {
  test('are the last lines that a server wrote', async () => {
    await cli(['call', 'calendar_list_events']);
    await cli(['call', 'calendar_cancel_event', 'title=x']);
    const last = 'cancel_event: {"title":"x"}';
    assert.deepEqual(await cli(['logs', 'calendar', '-n', '1']), { code: 0, out: last, err: '' });
    const answer = jsonOf((await cli(['logs', 'calendar', '--json', '-n', '2'])).out);
    assert.deepEqual(answer, { name: 'calendar', lines: ['list_events: {}', last] });
  });

  test('-f goes on until it is told to end, and that is no failure', async () => {
    const ending = new AbortController();
    let calls = 0;
    const { code, out } = await cli(['logs', 'calendar', '-f', '-n', '1'], {
      signal: ending.signal,
      onOut(text) {
        if (calls++ === 0) void cli(['call', 'calendar_cancel_event', 'title=later']);
        if (text.includes('later')) ending.abort();
      },
    });
    assert.equal(code, 0);
    assert.equal(out.split('\n').length, 2);
    assert.match(out, /\ncancel_event: \{"title":"later"\}$/);
  });

  test('-f ends when nobody reads it any more', async () => {
    const { code } = await cli(['logs', 'calendar', '-f'], {
      signal: new AbortController().signal,
      onOut: (_text, stdout) => void stdout.emit('error', new Error('EPIPE')),
    });
    assert.equal(code, 0);
  });

  test.for([
    [['logs', 'calender'], 1, /Did you mean "calendar"\?$/],
    [['logs', 'calendar', '-n', 'x'], 2, /^--lines: "x" is not allowed: write a number from 0/],
    [['logs'], 2, /<server> is missing/],
  ] as const)('%j exits with %i', async ([args, expected, message]) => {
    const { code, err } = await cli(args);
    assert.equal(code, expected);
    assert.match(err, message);
  });
});
