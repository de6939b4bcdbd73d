import { chownSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { engineAvailable } from '#helpers/engine';
import { driverSpec, userOf } from '../../hub/repositories/launch.ts';
import { docker } from '../runtimes/docker/hub.ts';
import { createScene, failureOf } from './harness.ts';

let root = '';
beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'launch-')));
  mkdirSync(join(root, '.git'));
});
afterAll(() => {
  rmSync(root, { recursive: true });
});
afterEach(() => {
  vi.restoreAllMocks();
});

const isRoot = process.getuid?.() === 0;
const specOf = (runsIn: 'docker' | 'process', inContainer = false) =>
  driverSpec(root, { runsIn, inContainer, imagesDir: '/images' });
const runAs = (uid: number) => vi.spyOn(process, 'getuid').mockReturnValue(uid);

test('a container runs as the owner of the git folder, but never with the group of root', () => {
  expect(userOf({ uid: 1000, gid: 100 })).toBe('1000:100');
  expect(userOf({ uid: 1000, gid: 0 })).toBe('1000:1000');
});

test('a hub may act for its own user, and root for all', async () => {
  const { uid } = statSync(join(root, '.git'));
  expect((await specOf('docker')).target).toMatchObject({ kind: 'docker', network: 'none' });
  runAs(uid + 7);
  expect(await failureOf(specOf('docker'))).toContain(
    `HUB_REPOSITORY_REFUSED: ${root} belongs to the user ${uid}, and the hub runs as ${uid + 7}. Run the hub as that user`,
  );
  runAs(0);
  expect((await specOf('docker')).target).toMatchObject({ kind: 'docker' });
});

test.runIf(isRoot)('without an engine git never runs as another user than the hub', async () => {
  expect((await specOf('process')).target).toMatchObject({ kind: 'process' });
  chownSync(join(root, '.git'), 1234, 1234);
  expect(await failureOf(specOf('process'))).toContain(
    'Without Docker git opens only repositories of its own user',
  );
  expect((await specOf('docker')).target).toMatchObject({ user: '1234:1234' });
  expect((await specOf('docker', true)).target).toMatchObject({ user: '1234:1234' });
  chownSync(join(root, '.git'), 0, 0);
  expect((await specOf('docker')).target).toMatchObject({ user: '0:0' });
  expect(await failureOf(specOf('docker', true))).toContain('belongs to root. Give it to a user');
});

test.runIf(engineAvailable())(
  'the container of git holds the repository and nothing else',
  async () => {
    await using scene = createScene('docker');
    const path = scene.create();
    await scene.open(path);
    const filters = JSON.stringify({ label: [`io.agenthub.hub=${scene.hub.id}`] });
    const [container] = await docker.listContainers({ filters });
    const { Config, HostConfig, Mounts } = await docker.getContainer(container?.Id ?? '').inspect();
    const { uid, gid } = statSync(join(path, '.git'));
    expect(Config.User).toBe(userOf({ uid, gid }));
    expect(
      Mounts.map(({ Type, Source, Destination, RW }) => [Type, Source, Destination, RW]),
    ).toEqual([['bind', path, path, true]]);
    expect(HostConfig).toMatchObject({
      NetworkMode: 'none',
      ReadonlyRootfs: true,
      Privileged: false,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      PidsLimit: 64,
      Memory: 2 ** 30,
      MemorySwap: 2 ** 30,
      Tmpfs: {
        '/tmp': expect.stringContaining('noexec'),
        '/home/mcp': expect.stringContaining('noexec'),
      },
    });
    expect(Object.keys(HostConfig.Tmpfs ?? {})).toHaveLength(2);
  },
);
