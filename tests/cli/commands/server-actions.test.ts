import assert from 'node:assert/strict';
import { test } from 'vitest';
import { fieldOf, jsonOf, openOther, withHub } from '../hub.ts';

const { cli } = withHub();

test('stop, start and restart change the state, and print it', async () => {
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

test('reload prints what changed and what is not applied, and fails for the latter', async () => {
  const answer = {
    status: 'reloaded',
    added: ['a', 'b'],
    removed: [],
    changed: ['c'],
    failed: [{ server: 'd', message: 'it cannot be launched' }],
    waiting: [
      { server: 'e', message: 'it waits' },
      { client: 'f', message: 'it waits too' },
    ],
  };
  await using open = await openOther(200, JSON.stringify(answer));
  assert.deepEqual(await cli(['reload', '--url', open.url]), {
    code: 1,
    out: 'reloaded\nadded: a, b\nchanged: c',
    err: 'd: it cannot be launched\ne: it waits\nclient:f: it waits too',
  });
  const { code, out } = await cli(['reload', '--json', '--url', open.url]);
  assert.deepEqual([code, jsonOf(out)], [1, answer]);
  await using applied = await openOther(200, '{"status": "unchanged", "failed": []}');
  assert.deepEqual(await cli(['reload', '--url', applied.url]), {
    code: 0,
    out: 'unchanged',
    err: '',
  });
});

test('reload names the settings that take effect after a restart', async () => {
  const answer = {
    status: 'unchanged',
    settings_that_need_a_restart: ['ROUTER_PORT', 'LOG_LEVEL'],
  };
  await using hub = await openOther(200, JSON.stringify(answer));
  assert.deepEqual(await cli(['reload', '--url', hub.url]), {
    code: 0,
    out: 'unchanged',
    err: 'note: changes of these settings take effect after a restart of the hub: ROUTER_PORT, LOG_LEVEL',
  });
});

test('remove tells what is removed with the entry, and what is left', async () => {
  const answer = {
    name: 'a',
    removed: [
      { kind: 'entry', name: 'a' },
      { kind: 'instance', name: 'x' },
      { kind: 'login', name: 'a', revoked: true },
      { kind: 'login', name: 'b', revoked: false },
      { kind: 'volume', name: 'data' },
    ],
    left: [{ kind: 'image', name: 'a/b:1', why: 'it is in use' }],
  };
  await using other = await openOther(200, JSON.stringify(answer));
  assert.deepEqual(await cli(['remove', 'a', '--purge', '--url', other.url]), {
    code: 0,
    out: 'removed a\nremoved the login a\nremoved the login b. Its tokens were deleted here, but not revoked\nremoved the volume data',
    err: 'not removed: the image a/b:1: it is in use',
  });
});
