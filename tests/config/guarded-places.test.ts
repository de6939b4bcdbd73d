import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { placesOfUser } from '../../hub/config/guarded-places.ts';

const home = '/home/me';
const placesIn = (env: Readonly<Record<string, string>> = {}) => placesOfUser({ home, env });
const kindsOf = (path: string, env?: Readonly<Record<string, string>>) =>
  placesIn(env)
    .filter(place => place.path === path)
    .map(({ kind }) => kind);

test('every place is one absolute path, with a description', () => {
  for (const { path, what } of placesIn()) {
    assert.match(path, /^\//);
    assert.doesNotMatch(path, /[{}$~\n]|\/\/|^\s|\s$/);
    assert.match(what, /\S/);
  }
});

test.for([
  ['/home/me/.ssh', 'both'],
  ['/home/me/.gnupg', 'both'],
  ['/home/me/.bashrc', 'run'],
  ['/home/me/.pam_environment', 'run'],
  ['/etc/profile', 'run'],
  ['/var/spool/cron', 'run'],
  ['/home/me/.config/fish', 'run'],
  ['/home/me/.local/bin', 'run'],
  ['/home/me/.config/google-chrome', 'secret'],
  ['/home/me/Library/Application Support/Google/Chrome', 'secret'],
  ['/home/me/Library/Application Support/Microsoft Edge', 'secret'],
  ['/home/me/.config/containers/auth.json', 'secret'],
  ['/etc/shadow', 'secret'],
] as const)('%s is guarded: %s', ([path, kind]) => {
  assert.deepEqual(kindsOf(path), [kind]);
});

describe('a variable that names the path of sensitive files', () => {
  test.for([
    ['GNUPGHOME', '/keys', ['both']],
    ['ZDOTDIR', '/dots', ['run']],
    ['BASH_ENV', ' /env ', ['run']],
    ['KUBECONFIG', '/a:/b', ['secret']],
    ['KUBECONFIG', 'relative:/a;/b', ['secret']],
  ] as const)('%s=%j adds its path', ([name, value, kinds]) => {
    const path = value.split(/[:;]/).at(-1)?.trim() ?? '';
    assert.deepEqual(kindsOf(path, { [name]: value }), kinds);
  });

  test('XDG_CONFIG_HOME moves the folder of settings', () => {
    const env = { XDG_CONFIG_HOME: '/settings' };
    assert.deepEqual(kindsOf('/settings/fish', env), ['run']);
    assert.deepEqual(kindsOf('/home/me/.config/fish', env), []);
  });

  test.for(['', '  ', 'relative', './x', 'relative:other'])('is ignored if it is %j', value => {
    const env = Object.fromEntries(
      ['GNUPGHOME', 'ENV', 'XDG_CONFIG_HOME', 'KUBECONFIG', 'NETRC'].map(name => [name, value]),
    );
    assert.deepEqual(placesIn(env), placesIn());
  });

  test('may be a Windows path', () => {
    assert.deepEqual(kindsOf('C:\\keys', { GNUPGHOME: 'C:\\keys' }), ['both']);
  });
});
