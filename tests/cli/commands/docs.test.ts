import assert from 'node:assert/strict';
import { test } from 'vitest';
import { openOther } from '../hub.ts';
import { run } from '../run.ts';

test.for([
  [
    'project_name: "my:app" has one of the characters :',
    '--name: "my:app" has one of the characters :',
  ],
  ['vault: is missing. Name a folder', '--vault: is missing. Name a folder'],
  [
    '"/srv/app": it does not exist. Check the path',
    '"/srv/app": it does not exist. Check the path',
  ],
] as const)('the refusal %j of the hub is shown as %j', async ([message, shown]) => {
  await using hub = await openOther(
    400,
    JSON.stringify({ error: { code: 'HUB_REQUEST_INVALID', message } }),
  );
  const { code, err } = await run(['docs', '/srv/app'], {
    findHub: async () => ({ url: hub.url, token: undefined }),
  });
  assert.deepEqual([code, err], [2, shown]);
});
