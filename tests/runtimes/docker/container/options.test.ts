import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { DockerTarget, LaunchSpec } from '#runtimes';
import { createOptions } from '../../../../hub/runtimes/docker/container/options.ts';

const owner = { hubId: 'id-1', hubName: 'hub' };
const target: DockerTarget = {
  kind: 'docker',
  image: { reference: 'some/image:1' },
  args: [],
  network: 'none',
  mounts: [],
  volumes: [],
  limits: {
    memoryBytes: 512 * 2 ** 20,
    cpus: 1.5,
    pids: 128,
    scratchBytes: 64 * 2 ** 20,
    volumeBytes: 10 * 2 ** 30,
  },
  logs: 'bounded',
};
const tmpfs = 'rw,nosuid,nodev,noexec,size=67108864,mode=1777';

/** Returns the request body for a target that differs from the strictest one in these keys. */
function body(
  changes: Partial<DockerTarget> = {},
  env: LaunchSpec['env'] = {},
  user = '',
  instance?: string,
) {
  const changed = { ...target, ...changes };
  const spec: LaunchSpec = {
    server: 'files',
    ...(instance !== undefined && { instance }),
    target: changed,
    env,
    maxLineBytes: 1,
    maxWaitingBytes: 1,
  };
  return createOptions(owner, spec, changed, {
    reference: 'some/image:1',
    id: 'sha256:1',
    user,
    volumes: [],
    entrypoint: [],
    command: [],
    env: [],
  });
}

describe('the body that a container is created from', () => {
  test('is at its strictest if the spec loosens nothing', () => {
    assert.deepEqual(body(), {
      Image: 'some/image:1',
      Hostname: 'mcp-files',
      User: '65532:65532',
      Env: ['HOME=/home/mcp'],
      AttachStdin: true,
      AttachStdout: true,
      AttachStderr: true,
      OpenStdin: true,
      StdinOnce: false,
      Tty: false,
      Healthcheck: { Test: ['NONE'] },
      Labels: {
        'io.agenthub.hub': 'id-1',
        'io.agenthub.server': 'files',
        'io.agenthub.managed': 'true',
        'com.docker.compose.project': 'hub',
        'com.docker.compose.service': 'mcp-files',
        'com.docker.compose.oneoff': 'False',
        'com.docker.compose.container-number': '1',
        'com.docker.compose.config-hash': 'agenthub',
        'com.docker.compose.project.config_files': '',
      },
      HostConfig: {
        Init: true,
        AutoRemove: false,
        RestartPolicy: { Name: 'no' },
        Privileged: false,
        CapDrop: ['ALL'],
        SecurityOpt: ['no-new-privileges'],
        ReadonlyRootfs: true,
        IpcMode: 'private',
        CgroupnsMode: 'private',
        Memory: 536_870_912,
        MemorySwap: 536_870_912,
        NanoCpus: 1_500_000_000,
        PidsLimit: 128,
        NetworkMode: 'none',
        Tmpfs: { '/tmp': tmpfs, '/home/mcp': tmpfs },
        LogConfig: { Type: 'local', Config: { 'max-size': '1m', 'max-file': '2' } },
        Mounts: [],
      },
    });
  });

  for (const [imageUser, specUser, expected] of [
    ['', undefined, '65532:65532'],
    ['root', undefined, '65532:65532'],
    ['0', undefined, '65532:65532'],
    ['0:0', undefined, '65532:65532'],
    ['00', undefined, '65532:65532'],
    ['root:staff', undefined, '65532:65532'],
    ['1000:1000', undefined, '1000:1000'],
    ['1000', undefined, '1000:1000'],
    ['1001:0', undefined, '1001:1001'],
    ['node', undefined, '65532:65532'],
    ['node:node', undefined, '65532:65532'],
    ['1000:staff', undefined, '65532:65532'],
    ['node', '1234', '1234:1234'],
    ['', '1234:99', '1234:99'],
    ['', 'node', 'node'],
    ['', '0:0', '0:0'],
  ] as const)
    test(`the user is ${expected} if the image says "${imageUser}" and the spec ${specUser}`, () => {
      assert.equal(
        body(specUser === undefined ? {} : { user: specUser }, {}, imageUser).User,
        expected,
      );
    });

  for (const [what, changes, expected] of [
    ['nothing', {}, {}],
    ['a command', { command: 'node' }, { Entrypoint: ['node'], Cmd: [] }],
    ['arguments', { args: ['-v'] }, { Cmd: ['-v'] }],
    ['both', { command: 'node', args: ['-v'] }, { Entrypoint: ['node'], Cmd: ['-v'] }],
    ['a working folder', { workingDirectory: '/data' }, { WorkingDir: '/data' }],
  ] as const)
    test(`${what} of the spec is in the body, and the rest comes from the image`, () => {
      const { Entrypoint, Cmd, WorkingDir } = body(changes);
      const none = { Entrypoint: undefined, Cmd: undefined, WorkingDir: undefined };
      assert.deepEqual({ Entrypoint, Cmd, WorkingDir }, { ...none, ...expected });
    });

  test('the environment is passed unchanged, and may replace HOME', () => {
    assert.deepEqual(body({}, { A: 'b=c d', HOME: '/data' }).Env, ['HOME=/data', 'A=b=c d']);
  });

  test('no value of the environment is in a label', () => {
    assert.ok(!JSON.stringify(body({}, { TOKEN: 'hush-hush' }).Labels).includes('hush'));
  });

  test('a server with "bridge" gets a network of its own', () => {
    assert.equal(body({ network: 'bridge' }).HostConfig.NetworkMode, 'hub-files');
  });

  test('an instance of a session differs in its names and labels, and shares the volumes', () => {
    const change = { network: 'bridge', volumes: [{ name: 'notes', target: '/data' }] } as const;
    const { Labels, HostConfig } = body(change, {}, '', '7');
    assert.equal(HostConfig.NetworkMode, 'hub-files.7');
    assert.deepEqual(HostConfig.Mounts, body(change).HostConfig.Mounts);
    assert.deepEqual(Labels, {
      ...body().Labels,
      'io.agenthub.instance': '7',
      'com.docker.compose.container-number': '8',
    });
    assert.equal(
      body(change, {}, '', 'probe').Labels?.['com.docker.compose.container-number'],
      '0',
      'one that does not stay is none of them',
    );
  });

  test('without logs the engine stores none', () => {
    assert.deepEqual(body({ logs: 'none' }).HostConfig.LogConfig, { Type: 'none', Config: {} });
  });

  test('mounts are binds, volumes are named after the hub and labelled', () => {
    const { Mounts, Tmpfs } = body({
      mounts: [
        { source: '/home/me/notes', target: '/notes', readOnly: true },
        { source: '/home/me/out', target: '/home/mcp', readOnly: false },
      ],
      volumes: [{ name: 'memory', target: '/data' }],
    }).HostConfig;
    assert.deepEqual(Mounts, [
      { Type: 'bind', Source: '/home/me/notes', Target: '/notes', ReadOnly: true },
      { Type: 'bind', Source: '/home/me/out', Target: '/home/mcp', ReadOnly: false },
      {
        Type: 'volume',
        Source: 'hub-memory',
        Target: '/data',
        ReadOnly: false,
        VolumeOptions: {
          Labels: {
            'io.agenthub.hub': 'id-1',
            'io.agenthub.managed': 'true',
            'io.agenthub.name': 'hub',
          },
        },
      },
    ]);
    assert.deepEqual(Tmpfs, { '/tmp': tmpfs }, 'a path that is mounted is not mounted twice');
  });

  test('a folder of a volume is mounted alone, without content of the image', () => {
    const { Mounts } = body({
      volumeFolders: [{ volume: 'hub_data', path: 'agents/ada/workspace', target: '/workspace' }],
    }).HostConfig;
    assert.deepEqual(Mounts, [
      {
        Type: 'volume',
        Source: 'hub_data',
        Target: '/workspace',
        ReadOnly: false,
        VolumeOptions: { NoCopy: true, Subpath: 'agents/ada/workspace' },
      },
    ]);
  });
});
