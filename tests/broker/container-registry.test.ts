import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import {
  type Bind,
  createContainerRegistry,
  maxContainers,
} from '../../hub/broker/container-registry.ts';
import { owner } from './bodies.ts';

type Made = { readonly name: string; readonly hubId?: string; readonly binds?: readonly Bind[] };

/** Returns an engine double with these containers. */
function engineOf(containers: readonly Made[]) {
  const getJson = async (path: string) => {
    const asked = containers.find(({ name }) => path === `/containers/id-${name}/json`);
    if (asked) {
      const Mounts = (asked.binds ?? []).map(({ source, readOnly }) => ({
        Type: 'bind',
        Source: source,
        ReadOnly: readOnly,
      }));
      return { status: 200, body: { HostConfig: { Binds: null, Mounts } } };
    }
    const body = containers.map(({ name, hubId = owner.hubId, binds = [] }) => ({
      Id: `id-${name}`,
      Names: [`/${name}`],
      Labels: { 'io.agenthub.hub': hubId, 'io.agenthub.managed': 'true' },
      Mounts: binds.map(() => ({ Type: 'bind' })),
    }));
    return { status: 200, body };
  };
  return { getJson };
}

const writable = (source: string): Bind => ({ source, readOnly: false });
const readOnly = (source: string): Bind => ({ source, readOnly: true });
const registryOf = (...containers: readonly Made[]) =>
  createContainerRegistry(engineOf(containers), owner);
const refused = (message: RegExp) => ({ code: 'HUB_BROKER_REFUSED', message });

describe('a worktree in the folder of git', () => {
  const git = { name: `${owner.hubName}-.git-0123456789ab`, binds: [writable('/srv/app')] };
  const worktree = readOnly('/srv/app/.git/agenthub/worktrees/agenthub-t');
  const gate = { name: `${owner.hubName}-.gate-0123456789ab`, binds: [worktree] };

  test('is mounted for acceptance commands, whichever of the two comes first', async () => {
    (await registryOf(git).reserve(gate.name, [worktree]))();
    (await registryOf(gate).reserve(git.name, git.binds))();
  });

  test.each<[string, string, Bind]>([
    ['for a server', 'hub-memory', worktree],
    ['if it is another folder', gate.name, readOnly('/srv/app/src')],
    ['if it is all worktrees', gate.name, readOnly('/srv/app/.git/agenthub/worktrees')],
  ])('is not mounted %s', async (_, name, bind) => {
    await assert.rejects(registryOf(git).reserve(name, [bind]), refused(/beside a writable mount/));
  });

  test.each([
    ['of a server', `${owner.hubName}-x-.git-0123456789ab`, gate.name],
    ['for a server', git.name, `${owner.hubName}-x-.gate-0123456789ab`],
  ])(
    'is not mounted %s whose name only contains that of one of the two',
    async (_, outer, inner) => {
      await assert.rejects(
        registryOf({ name: outer, binds: git.binds }).reserve(inner, [worktree]),
        refused(/beside a writable mount/),
      );
    },
  );

  test('is not mounted beside a writable mount of a server', async () => {
    const server = { name: 'hub-files', binds: [writable('/srv')] };
    await assert.rejects(
      registryOf(git, server).reserve(gate.name, [worktree]),
      refused(/beside a writable mount of "\/srv"/),
    );
  });
});

describe('a folder that another container may write to is not mounted', () => {
  test.each<[string, Bind, Bind]>([
    ['read-only', writable('/srv'), readOnly('/srv/a')],
    ['writable', writable('/srv'), writable('/srv/a/b')],
    ['in other letters', writable('/srv/Notes'), readOnly('/srv/notes/a')],
    ['in letters that are one in upper case', writable('/srv/Maße'), readOnly('/srv/MASSE/a')],
    ['with an accent of its own', writable('/srv/caf\u00e9'), readOnly('/srv/cafe\u0301/a')],
  ])('%s', async (_, outer, inner) => {
    await assert.rejects(
      registryOf({ name: 'old', binds: [outer] }).reserve('new', [inner]),
      refused(/a mount of "\/srv.*" in new beside a writable mount of "\/srv.*" in old, which/),
    );
    await assert.rejects(
      registryOf({ name: 'old', binds: [inner] }).reserve('new', [outer]),
      refused(/ in old beside a writable mount of "\/srv.*" in new, which/),
    );
    await assert.rejects(registryOf().reserve('new', [inner, outer]), refused(/beside/));
  });

  test('even if the container belongs to another hub, whose name the message omits', async () => {
    const others = registryOf({ name: 'theirs', hubId: 'other', binds: [writable('/srv')] });
    await assert.rejects(others.reserve('new', [readOnly('/srv/a')]), (error: Error) => {
      assert.match(error.message, /in a container of another hub, which/);
      assert.ok(!error.message.includes('theirs'));
      return true;
    });
  });

  test('even while the other container is being created', async () => {
    const registry = registryOf();
    const [outer, inner] = await Promise.allSettled([
      registry.reserve('outer', [writable('/srv')]),
      registry.reserve('inner', [readOnly('/srv/a')]),
    ]);
    assert.equal(inner.status, 'rejected');
    if (outer.status === 'rejected') assert.fail(String(outer.reason));
    outer.value();
    await registry.reserve('inner', [readOnly('/srv/a')]);
  });
});

test.each<[string, Bind, Bind]>([
  ['in one that is read-only', readOnly('/srv'), writable('/srv/a')],
  ['that is the same', writable('/srv'), writable('/srv')],
  ['beside it, with a name that begins like it', writable('/srv'), writable('/srv-2')],
])('a folder is mounted %s', async (_, old, next) => {
  await registryOf({ name: 'old', binds: [old] }).reserve('new', [next]);
});

test('a second container of the same name is left to the engine, which refuses the name', async () => {
  const registry = registryOf({ name: 'same', binds: [writable('/srv')] });
  await registry.reserve('same', [readOnly('/srv/a')]);
});

test('a hub cannot exceed its number of containers; those of others do not count', async () => {
  const many = Array.from({ length: maxContainers - 1 }, (_, index) => ({ name: `c${index}` }));
  const registry = registryOf(...many, { name: 'theirs', hubId: 'other' });
  const done = await registry.reserve('last', []);
  await assert.rejects(
    registry.reserve('one-more', []),
    refused(/^the broker does not admit more than 256 containers of one hub\. Stop servers/),
  );
  done();
  await registry.reserve('one-more', []);
});

test('no container is admitted while the engine does not list containers', async () => {
  const silent = createContainerRegistry(
    { getJson: async () => ({ status: 500, body: {} }) },
    owner,
  );
  await assert.rejects(silent.reserve('new', []), { code: 'HUB_ENGINE_REFUSED' });
});
