import assert from 'node:assert/strict';
import { test } from 'vitest';
import { fieldOf, jsonOf, withHub } from '../hub.ts';

const { cli } = withHub();

test('stop, start and restart do so, and tell what came of it', async () => {
  assert.deepEqual(await cli(['stop', 'echo']), { code: 0, out: 'echo: stopped', err: '' });
  assert.match((await cli(['list'])).out, /^echo +stopped .*stopped by hand$/m);
  assert.deepEqual(await cli(['call', 'echo_echo', 'text=a']), {
    code: 1,
    out: '',
    err: 'echo was stopped by hand. Start it with "agenthub start echo"',
  });
  assert.equal((await cli(['start', 'echo'])).out, 'echo: running, 17 tools');
  const answer = jsonOf((await cli(['restart', 'echo', 'calendar', '--json'])).out);
  const servers = fieldOf(answer, 'servers');
  assert.ok(Array.isArray(servers));
  assert.deepEqual(
    servers.map(server => [fieldOf(server, 'name'), fieldOf(server, 'state')]),
    [
      ['echo', 'running'],
      ['calendar', 'running'],
    ],
  );
  const { code, err } = await cli(['restart', 'ecoh']);
  assert.equal(code, 1);
  assert.match(err, /Did you mean "echo"\?$/);
});
