import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { findUserFolders } from '#config';

const home = '/home/ada';

describe('the folders of a user', () => {
  test.for([
    [
      'linux',
      {},
      '/home/ada/.config/agenthub',
      '/home/ada/.local/share/agenthub',
      '/home/ada/.local/state/agenthub/hubs',
    ],
    [
      'linux',
      { XDG_CONFIG_HOME: '/c', XDG_DATA_HOME: '/d', XDG_STATE_HOME: '/s' },
      '/c/agenthub',
      '/d/agenthub',
      '/s/agenthub/hubs',
    ],
    // The XDG specification ignores relative paths, and treats an empty variable as not set.
    [
      'freebsd',
      { XDG_CONFIG_HOME: 'c', XDG_DATA_HOME: '', AGENTHUB_HOME: './here' },
      '/home/ada/.config/agenthub',
      '/home/ada/.local/share/agenthub',
      '/home/ada/.local/state/agenthub/hubs',
    ],
    [
      'darwin',
      { XDG_CONFIG_HOME: '/c' },
      '/home/ada/Library/Application Support/agenthub',
      '/home/ada/Library/Application Support/agenthub/data',
      '/home/ada/Library/Application Support/agenthub/hubs',
    ],
    ['linux', { AGENTHUB_HOME: '/a', XDG_CONFIG_HOME: '/c' }, '/a', '/a/data', '/a/hubs'],
  ] as const)('on %s with %j', ([platform, env, config, data, state]) => {
    assert.deepEqual(findUserFolders({ platform, env, home }), { config, data, state });
  });

  test('on Windows, with and without its variables', () => {
    const windows = { platform: 'win32', home: 'C:\\Users\\ada' } as const;
    const env = { APPDATA: 'D:\\Roaming', LOCALAPPDATA: 'D:\\Local' };
    assert.deepEqual(findUserFolders({ ...windows, env }), {
      config: 'D:\\Roaming\\agenthub',
      data: 'D:\\Local\\agenthub\\data',
      state: 'D:\\Local\\agenthub\\hubs',
    });
    const { config, data } = findUserFolders({ ...windows, env: {} });
    assert.equal(config, 'C:\\Users\\ada\\AppData\\Roaming\\agenthub');
    assert.equal(data, 'C:\\Users\\ada\\AppData\\Local\\agenthub\\data');
  });
});
