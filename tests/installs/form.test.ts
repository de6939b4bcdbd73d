import assert from 'node:assert/strict';
import { test } from 'vitest';
import { installOptionsOf } from '../../hub/installs/form.ts';
import { serverJson } from '../../hub/installs/server-json.ts';
import { registered } from '../catalog/servers.ts';

const postgres = serverJson.parse(registered[1]?.server);

test('each package and address is an option with its inputs', () => {
  const options = installOptionsOf(postgres);
  assert.deepEqual(
    options.map(({ kind, what, wants }) => [kind, what, wants]),
    [
      ['npm', 'echo@1.0.0', []],
      ['oci', 'docker:docker.io/someone/postgres-mcp:2.0.0', []],
      ['remote', 'https://{tenant}.example.com/mcp', []],
    ],
  );
  const [npm, oci, remote] = options;
  assert.deepEqual(
    npm?.fields.map(({ path, isRequired, isSecret, default: preset }) => [
      path,
      isRequired,
      isSecret,
      preset,
    ]),
    [
      ['env.DATABASE_PASSWORD', true, true, ''],
      ['env.LOG_LEVEL', false, false, 'info'],
      ['variables.mode', false, false, 'ro'],
      ['variables.database', true, false, ''],
    ],
  );
  assert.deepEqual(npm.fields.find(({ label }) => label === 'mode')?.choices, ['ro', 'rw']);
  assert.match(oci?.refusal ?? '', /does not hand on the option "--privileged"/);
  assert.equal(npm.refusal, undefined);
  assert.deepEqual(
    remote?.fields.map(({ path, isSecret }) => [path, isSecret]),
    [
      ['variables.token', true],
      ['variables.tenant', false],
    ],
  );
});

test('folders and networks are shown as requests, not as refusals', () => {
  const [option] = installOptionsOf({
    name: 'com.example/files',
    packages: [
      {
        registryType: 'oci',
        identifier: 'o/n:1',
        runtimeArguments: [
          {
            type: 'named',
            name: '-v',
            value: '{folder}:/data',
            variables: { folder: { format: 'filepath' } },
          },
          { type: 'named', name: '--network', value: 'host' },
          {
            type: 'named',
            name: '-e',
            value: 'LEVEL={level}',
            variables: { level: { isRequired: true } },
          },
        ],
      },
    ],
  });
  assert.deepEqual([option?.refusal, option?.wants], [undefined, ['mounts', 'network']]);
  assert.deepEqual(
    option?.fields.map(({ path }) => path),
    ['variables.level'],
  );
});

test('an option that the hub cannot run has a reason', () => {
  const [option] = installOptionsOf({
    name: 'com.example/net',
    packages: [{ registryType: 'nuget', identifier: 'N', version: '1' }],
  });
  assert.equal(option?.kind, 'other');
  assert.match(option.refusal ?? '', /packages of "nuget" cannot be run/);
});
