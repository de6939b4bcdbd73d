import { chownSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rebuildContainer } from '../../hub/broker/container.ts';
import { checkRepositoryContainer } from '../../hub/broker/repository.ts';
import { failureOf } from '../repositories/harness.ts';
import { containerBody, owner } from './bodies.ts';

const image = 'agenthub/git:0123456789ab';
let root = '';
let user = '';
beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'broker-repository-')));
  mkdirSync(join(root, '.git'));
  // A broker opens no repository that belongs to root.
  if (process.getuid?.() === 0) chownSync(join(root, '.git'), 1234, 1235);
  const { uid, gid } = statSync(join(root, '.git'));
  user = `${uid}:${gid}`;
});
afterAll(() => {
  rmSync(root, { recursive: true });
});

const bind = (more: object = {}) => ({
  Type: 'bind',
  Source: root,
  Target: root,
  ReadOnly: false,
  ...more,
});
const programs = { '/acceptance': 'rw,nosuid,nodev,exec,size=1048576,mode=1777' };

const check = (name: string, host: object, rest: object) => {
  const body = JSON.stringify(containerBody(host, rest));
  return failureOf(
    Promise.resolve()
      .then(() => rebuildContainer(body, owner))
      .then(container => checkRepositoryContainer(`${owner.hubName}-${name}`, container, owner)),
  );
};
const git = (host: object = {}, rest: object = {}) =>
  check('.git-0123456789ab', { Mounts: [bind()], ...host }, { Image: image, User: user, ...rest });

test('git gets one folder, as the user who owns it', async () => {
  expect(await git()).toBe('no failure');
});

test.each([
  ['as another user', {}, { User: '1000:1000' }, 'it must run as'],
  ['as root', {}, { User: '0:0' }, 'other than root'],
  ['in another image', {}, { Image: 'node:24' }, 'git does not run in the image'],
  [
    'with a network',
    { NetworkMode: `${owner.hubName}-.git-0123456789ab` },
    {},
    'it must have no network',
  ],
  ['without a folder', { Mounts: [] }, {}, 'one folder of the machine'],
  ['with two folders', () => ({ Mounts: [bind(), bind()] }), {}, 'one folder of the machine'],
  [
    'with a volume',
    { Mounts: [{ Type: 'volume', Source: `${owner.hubName}-x`, Target: '/x' }] },
    {},
    'one folder of the machine',
  ],
  ['at another path', () => ({ Mounts: [bind({ Target: '/repository' })] }), {}, 'at its own path'],
  ['read-only', () => ({ Mounts: [bind({ ReadOnly: true })] }), {}, 'its folder must be writable'],
  [
    'with programs',
    { Tmpfs: { '/tmp': 'rw,nosuid,nodev,exec,size=1048576,mode=1777' } },
    {},
    'only /acceptance may have programs',
  ],
])('git is refused %s', async (_name, host, rest, why) => {
  const parts = typeof host === 'function' ? host() : host;
  expect(await git(parts, rest)).toMatch(new RegExp(`^HUB_BROKER_REFUSED: .*${why}`));
});

const gate = (host: object = {}) =>
  check('.gate-0123456789ab', { Mounts: [bind({ ReadOnly: true })], Tmpfs: programs, ...host }, {});

test('acceptance commands get a folder that is read-only, and one for programs', async () => {
  expect(await gate()).toBe('no failure');
  expect(await gate({ Mounts: [bind()] })).toContain('its folder must be read-only');
  expect(await gate({ NetworkMode: `${owner.hubName}-.gate-0123456789ab` })).toContain(
    'no network',
  );
});

test('servers get neither the image of git nor a folder for programs', async () => {
  expect(await check('memory', {}, {})).toBe('no failure');
  expect(await check('memory', {}, { Image: image })).toContain('only git runs in the image');
  expect(await check('memory', { Tmpfs: programs }, {})).toContain(
    'must not execute what it writes',
  );
});
