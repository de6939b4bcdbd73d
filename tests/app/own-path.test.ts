import assert from 'node:assert/strict';
import { test } from 'vitest';
import { ownPath } from '../../hub/app/own-path.ts';

const npm =
  '/home/ada/.npm/_npx/8e662afc/node_modules/.bin:/srv/hub/node_modules/.bin:/node_modules/.bin:/usr/lib/node_modules/npm/node_modules/@npmcli/run-script/lib/node-gyp-bin';
const own = '/home/ada/bin:/home/ada/tools/node_modules/.bin:/usr/bin';

test('the folders that npx puts before the PATH of the user are left out', () => {
  assert.equal(ownPath({ PATH: `${npm}:${own}`, npm_command: 'exec' }), own);
});

test('a PATH that npm did not change stays as it is', () => {
  assert.equal(ownPath({ PATH: `${npm}:${own}` }), `${npm}:${own}`);
  assert.equal(ownPath({ PATH: npm, npm_command: 'exec' }), npm);
  assert.equal(ownPath({}), '');
});
