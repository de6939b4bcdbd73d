import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { openOther, withHub } from '../hub.ts';
import { run } from '../run.ts';

const { cli } = withHub();

describe('__complete', () => {
  const complete = async (...words: readonly string[]) =>
    (await cli(['__complete', '--', ...words])).out.split('\n').map(line => line.split('\t')[0]);

  test.for([
    [['re'], ['remove', 'restart', 'reload']],
    [['call', 'echo_by'], ['echo_bytes']],
    [['call', '--server', 'calendar', 'create'], ['create_event']],
    [['call', '--server=calendar', 'create'], ['create_event']],
    [['call', 'echo_echo', '--server', 'c'], ['calendar']],
    [
      ['restart', 'echo', ''],
      ['echo', 'calendar'],
    ],
    [
      ['list', '--to'],
      ['--tools', '--tokens'],
    ],
    [
      ['add', 'x', '--network', ''],
      ['none', 'bridge'],
    ],
    [
      ['add', '--recipe', 's'],
      ['slack', 'sqlite'],
    ],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['check', '--config', ''], [':files']],
    [['nothing', ''], ['']],
    [['restart', '--url', 'http://127.0.0.1:1', ''], ['']],
  ] as const)('%j is completed to %j', async ([words, expected]) => {
    assert.deepEqual(await complete(...words), expected);
  });

  test('offers no word with characters that a shell would interpret', async () => {
    const names = ['good', '$(touch x)', 'a;b', '`a`'].map(name => ({ name, state: 'a\tb\nc' }));
    await using other = await openOther(200, JSON.stringify({ servers: names }));
    const { out } = await cli(['__complete', '--', 'restart', '--url', other.url, '']);
    assert.equal(out, 'good\ta b c');
  });

  test('prints nothing if the settings are invalid', async () => {
    const findBroken = async () => {
      throw new TypeError('settings');
    };
    const needs = { findHub: findBroken };
    const ended = await run(['__complete', '--', 'restart', ''], needs);
    assert.deepEqual(ended, { code: 0, out: '', err: '' });
  });
});
