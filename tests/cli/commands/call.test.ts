import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { until } from '#helpers/hub';
import { fieldOf, jsonOf, withHub } from '../hub.ts';

const at = withHub();
const { cli } = at;

describe('call', () => {
  const create = 'calendar_create_event';

  test("pairs get the types of the tool's schema", async () => {
    const pairs = [
      'title=12',
      'attendees=3',
      'room=Library',
      'remind=true',
      'agenda=1',
      'agenda=b',
    ];
    const { code, out, err } = await cli(['call', create, ...pairs]);
    assert.deepEqual({ code, err }, { code: 0, err: '' });
    assert.deepEqual(jsonOf(out), {
      title: '12',
      attendees: 3,
      room: 'Library',
      remind: true,
      agenda: ['1', 'b'],
    });
  });

  test.for([
    ['as an argument', [create, '{"title": "a", "room": "Garden"}'], ''],
    ['on stdin', [create, '-'], '{"title": "a", "room": "Garden"}'],
    [
      'on stdin after a byte order mark',
      [create, '-'],
      '\uFEFF{"title": "a", "room": "Garden"}\r\n',
    ],
    [
      "by the server's own name",
      ['create_event', '--server', 'calendar', 'title=a', 'room=Garden'],
      '',
    ],
  ] as const)('arguments come %s', async ([, args, input]) => {
    const { code, out } = await cli(['call', ...args], { input });
    assert.equal(code, 0);
    assert.deepEqual(jsonOf(out), { title: 'a', room: 'Garden' });
  });

  test('--json prints the whole result', async () => {
    const { out } = await cli(['call', 'echo_echo', 'text=hello', '--json']);
    assert.deepEqual(jsonOf(out), { content: [{ type: 'text', text: 'hello' }] });
  });

  test('a tool that fails exits with 1, and its text is on stderr', async () => {
    const args = ['call', 'calendar_cancel_event', 'title=a'];
    assert.deepEqual(await cli(args), { code: 1, out: '', err: 'there is no event a' });
    const { code, out } = await cli([...args, '--json']);
    assert.equal(code, 1);
    assert.equal(fieldOf(jsonOf(out), 'isError'), true);
  });

  test.for([
    [
      ['calendar_list_event'],
      1,
      /^no tool is called "calendar_list_event".* Did you mean "calendar_list_events"\?$/,
    ],
    [['calendar_list_event', '{}'], 1, /Did you mean "calendar_list_events"\?$/],
    [
      ['list_events'],
      1,
      /^no tool is called "list_events"\. Did you mean "calendar_list_events"\?$/,
    ],
    [
      ['calendar'],
      1,
      /^no tool is called "calendar"\. Did you mean "calendar_\w+", "calendar_\w+" or "calendar_\w+"\?$/,
    ],
    [
      ['play', '{}', '--server', 'calendar'],
      1,
      /no such tool: play \(-32602\)\. "agenthub list --tools" lists/,
    ],
    [
      [create, 'titel=a'],
      2,
      /takes no "titel"\. Did you mean "title"\? It takes: title \(string\), attendees \(integer\)/,
    ],
    [
      [create, 'title=a'],
      2,
      /^calendar_create_event needs room \(string\)\. Write room=\.\.\., or a JSON object$/,
    ],
    [
      [create, 'title=a', 'room=Library', 'attendees=many'],
      2,
      /^attendees: "many" is not allowed: write a whole number$/,
    ],
    [
      [create, 'title=a', 'title=b', 'room=Library'],
      2,
      /^title is not a list, but is given 2 times: write it once$/,
    ],
    [[create, 'Library'], 2, /^"Library" is not an argument: write key=value, such as title=hello/],
    [[create, '{"title": "a"'], 2, /^arguments: it is not JSON \(/],
    [[create, '{}', '{}'], 2, /^"\{\}" is one argument too many/],
    [
      ['create_event', '--server', 'calender', 'title=a'],
      1,
      /no server is called "calender".* Did you mean "calendar"\?$/,
    ],
  ] as const)('%j exits with %i and a hint', async ([args, expected, message]) => {
    const { code, out, err } = await cli(['call', ...args]);
    assert.deepEqual({ code, out }, { code: expected, out: '' });
    assert.match(err, message);
  });

  test('--json of a failure has its code', async () => {
    const { code, out } = await cli(['call', 'calendar_list_event', '--json']);
    assert.equal(code, 1);
    assert.equal(fieldOf(fieldOf(jsonOf(out), 'error'), 'code'), 'HUB_NAME_UNKNOWN');
  });

  test('control characters of a tool are removed on a terminal, and kept in a pipe', async () => {
    const evil = '\u001b[2Jgone\u0007\u009b31m';
    const args = ['call', 'echo_echo', JSON.stringify({ text: `a\tb\n${evil}` })];
    assert.equal((await cli(args)).out, `a\tb\n${evil}`);
    assert.equal((await cli(args, { columns: 80 })).out, 'a\tb\ngone');
  });

  test('progress is shown on a terminal, but not in a pipe', async () => {
    const args = ['call', 'echo_progress', 'steps=2'];
    const { out, err } = await cli(args, { columns: 80 });
    assert.equal(out, '2 steps');
    assert.match(err, /echo_progress: 1 of 2.*echo_progress: 2 of 2/s);
    assert.ok(err.endsWith('\r\u001b[K'), 'nothing is left of it');
    assert.deepEqual(await cli(args), { code: 0, out: '2 steps', err: '' });
  });

  test('a call that the user interrupts is cancelled, and its session is closed', async () => {
    const ending = new AbortController();
    const called = cli(['call', 'echo_slow', 'ms=60000'], { signal: ending.signal });
    await until(() => at.hub.server('echo').running?.upstream.inFlight() === 1);
    ending.abort();
    assert.deepEqual(await called, { code: 1, out: '', err: '' });
    assert.equal(at.hub.streamable.sessionCount, 0);
    assert.equal(at.hub.server('echo').running?.upstream.inFlight(), 0);
  });
});
