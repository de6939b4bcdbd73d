import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { isObject } from '#core';
import { parseInstallBody } from '../../hub/installs/install-body.ts';
import { draftOf } from '../../hub/installs/draft.ts';

/** Returns the draft that results from a request body. */
const draft = (body: object) => draftOf(parseInstallBody(body));
const entryOf = (server: object, more: object = {}) => draft({ server, ...more }).entry;

/** Server as the registry publishes it (schema of December 2025). */
const brave = {
  $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
  name: 'io.github.someone/brave-search',
  description: 'Searches the web.',
  version: '1.0.2',
  packages: [
    {
      registryType: 'npm',
      registryBaseUrl: 'https://registry.npmjs.org',
      identifier: '@someone/server-brave-search',
      version: '1.0.2',
      runtimeHint: 'npx',
      transport: { type: 'stdio' },
      runtimeArguments: [{ type: 'positional', value: '-y' }],
      environmentVariables: [
        { name: 'BRAVE_API_KEY', description: 'the key', isRequired: true, isSecret: true },
        { name: 'LOG_LEVEL', default: 'info', choices: ['info', 'debug'] },
        { name: 'UNSET' },
      ],
    },
  ],
};
const packaged = (more: object) => ({
  name: 'a/b',
  packages: [{ registryType: 'npm', identifier: 'b', version: '1.0.0', ...more }],
});

describe('an entry of the registry becomes an entry of the config', () => {
  test('with its package, its version, and the variables that have values', () => {
    const { name, entry, secrets } = draft({
      server: brave,
      env: { BRAVE_API_KEY: '${BRAVE_API_KEY}', EXTRA: 'x' },
      _meta: { of: 'the registry' },
    });
    assert.equal(name, 'brave-search');
    assert.deepEqual(entry, {
      package: '@someone/server-brave-search@1.0.2',
      env: { BRAVE_API_KEY: '${BRAVE_API_KEY}', LOG_LEVEL: 'info', EXTRA: 'x' },
      description: 'Searches the web.',
    });
    assert.deepEqual([...secrets], ['env.BRAVE_API_KEY']);
  });

  test('missing values are reported, all at once', () => {
    const server = packaged({
      packageArguments: [
        {
          type: 'named',
          name: '--root',
          value: '{root}',
          variables: { root: { isRequired: true } },
        },
        { type: 'positional', valueHint: 'database', isRequired: true, description: 'which one' },
      ],
      environmentVariables: [{ name: 'KEY', isRequired: true, isSecret: true }],
    });
    assert.throws(() => draft({ server }), {
      code: 'HUB_REQUEST_INVALID',
      message: /env\.KEY, a secret; variables\.root; variables\.database \(which one\)/,
      data: { missing: ['env.KEY', 'variables.root', 'variables.database'] },
    });
  });

  test('a missing secret is reported with the field that sets it', () => {
    const server = {
      $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
      name: 'io.github.someone/tickets',
      title: 'Tickets',
      description: 'Reads and writes tickets.',
      repository: { url: 'https://github.com/someone/tickets', source: 'github' },
      version: '2.3.1',
      packages: [
        {
          registryType: 'oci',
          identifier: 'ghcr.io/someone/tickets:2.3.1',
          transport: { type: 'stdio' },
          environmentVariables: [
            {
              name: 'TICKETS_TOKEN',
              description: 'from your profile',
              format: 'string',
              isRequired: true,
              isSecret: true,
            },
            { name: 'TICKETS_REGION', default: 'eu', choices: ['eu', 'us'] },
            {
              name: 'TICKETS_DATABASE',
              isRequired: true,
              value: 'postgres://{user}:{db-password}@db.example/tickets',
              variables: {
                user: { default: 'reader' },
                'db-password': { isRequired: true, isSecret: true },
              },
            },
          ],
        },
      ],
      _meta: { 'io.modelcontextprotocol.registry/official': { status: 'active' } },
    };
    let message = '';
    assert.throws(
      () => draft({ server }),
      (error: unknown) => {
        message = error instanceof Error ? error.message : '';
        return true;
      },
    );
    assert.match(message, /env\.TICKETS_TOKEN \(from your profile\), a secret;/);
    const [, members = ''] = /Add to it: (.*?)\. Set each/.exec(message) ?? [];
    const given: unknown = JSON.parse(`{${members}}`);
    assert.ok(isObject(given));
    assert.deepEqual(given, {
      env: { TICKETS_TOKEN: '${TICKETS_TOKEN}' },
      variables: { 'db-password': '${DB_PASSWORD}' },
    });
    const env = {
      TICKETS_TOKEN: '${TICKETS_TOKEN}',
      TICKETS_REGION: 'eu',
      TICKETS_DATABASE: 'postgres://reader:${DB_PASSWORD}@db.example/tickets',
    };
    const { entry, secrets } = draft({ server, ...given });
    assert.deepEqual(entry['env'], env);
    assert.deepEqual([...secrets], ['env.TICKETS_TOKEN', 'env.TICKETS_DATABASE']);
    // Values for variables of the environment are also accepted in `variables`.
    const variables = { TICKETS_TOKEN: '${TICKETS_TOKEN}', 'db-password': '${DB_PASSWORD}' };
    assert.deepEqual(entryOf(server, { variables })['env'], env);
    assert.throws(
      () => draft({ server, variables: { ...variables, TICKETS_REGION: 'mars' } }),
      /TICKETS_REGION: "mars" is not allowed: write "eu" or "us"/,
    );
  });

  test('arguments keep their order, and get their values from the request', () => {
    const server = packaged({
      packageArguments: [
        { type: 'positional', value: 'serve' },
        { type: 'named', name: '--port', default: '80' },
        { type: 'named', name: '--host', format: 'string' },
        { type: 'named', name: '--verbose', format: 'boolean', default: 'true' },
        {
          type: 'named',
          name: '--dir',
          value: '/base/{dir}',
          variables: { dir: { default: 'x' } },
        },
        { type: 'positional', valueHint: 'target', isRequired: true },
      ],
    });
    const variables = { target: '/data', '--port': '81', dir: 'y' };
    assert.deepEqual(entryOf(server, { variables })['args'], [
      'serve',
      '--port',
      '81',
      '--verbose',
      '--dir',
      '/base/y',
      '/data',
    ]);
    assert.deepEqual(entryOf(server, { args: ['--own'] })['args'], ['--own']);
  });

  test('text of the publisher cannot read the environment of the hub', () => {
    const server = packaged({
      environmentVariables: [
        { name: 'A', value: '${GITHUB_TOKEN}' },
        { name: 'B', default: '$x' },
      ],
      packageArguments: [{ type: 'positional', value: '--key=${GITHUB_TOKEN}' }],
    });
    assert.deepEqual(entryOf(server)['env'], { A: '$${GITHUB_TOKEN}', B: '$$x' });
    assert.deepEqual(entryOf(server)['args'], ['--key=$${GITHUB_TOKEN}']);
    const remote = { name: 'a/b', remotes: [{ type: 'sse', url: 'https://h/${HOME}' }] };
    assert.equal(entryOf(remote)['url'], 'https://h/$${HOME}');
    const unfilled = { type: 'sse', url: 'https://h/${HOME}/{x}', variables: { x: {} } };
    const address = entryOf({ name: 'a/b', remotes: [unfilled] })['url'];
    assert.equal(address, 'https://h/$${HOME}/{x}');
  });

  test('a value that is not one of the choices is refused', () => {
    assert.throws(
      () => draft({ server: brave, env: { BRAVE_API_KEY: 'x', LOG_LEVEL: 'loud' } }),
      /env\.LOG_LEVEL: "loud" is not allowed: write "info" or "debug"/,
    );
  });

  test('an entry with the first version of the schema is read as well', () => {
    const server = {
      name: 'io.example/weather',
      version_detail: { version: '0.5.0' },
      packages: [
        {
          registry_type: 'pypi',
          registry_base_url: 'https://pypi.org',
          identifier: 'weather-mcp-server',
          version: '0.5.0',
          environment_variables: [{ name: 'KEY', is_required: true, is_secret: true }],
        },
      ],
    };
    assert.throws(() => draft({ server }), /env\.KEY, a secret/);
    assert.equal(
      entryOf(server, { env: { KEY: 'x' } })['package'],
      'uvx:weather-mcp-server==0.5.0',
    );
  });

  test('members that are null count as absent', () => {
    const server = {
      name: 'io.example/weather',
      title: null,
      remotes: null,
      packages: [
        { registryType: 'npm', identifier: 'weather', version: '1.0.0', runtimeHint: null },
      ],
    };
    assert.equal(entryOf(server)['package'], 'weather@1.0.0');
  });
});

describe('the first usable option is chosen', () => {
  const image = { registryType: 'oci', identifier: 'mcp/files', version: '1.0.2' };
  test.each([
    [{ identifier: 'mcp/files', version: '1.0' }, 'docker:mcp/files:1.0'],
    [{ identifier: 'ghcr.io/x/y:2.0', version: '1.0' }, 'docker:ghcr.io/x/y:2.0'],
    [
      { identifier: 'x/y', version: '1', registryBaseUrl: 'https://ghcr.io' },
      'docker:ghcr.io/x/y:1',
    ],
    [{ identifier: 'x/y', version: '1', registryBaseUrl: 'https://docker.io' }, 'docker:x/y:1'],
  ])('an image: %j', (more, expected) => {
    const server = { name: 'a/b', packages: [{ registryType: 'oci', ...more }] };
    assert.equal(entryOf(server)['package'], expected);
  });

  test('a remote address, after packages of kinds that cannot be run', () => {
    const server = {
      name: 'a/b',
      packages: [
        { registryType: 'mcpb', identifier: 'https://x/y.mcpb', fileSha256: '00' },
        { registryType: 'nuget', identifier: 'X.Y', version: '1.0.0' },
      ],
      remotes: [
        {
          type: 'streamable-http',
          url: 'https://{tenant}.example.com/mcp',
          variables: { tenant: { isRequired: true } },
          headers: [
            {
              name: 'X-Key',
              isRequired: true,
              isSecret: true,
              value: 'Key {key}',
              variables: { key: {} },
            },
          ],
        },
      ],
    };
    const given = { variables: { tenant: 'acme', key: '${KEY}' } };
    assert.deepEqual(entryOf(server, given), {
      url: 'https://acme.example.com/mcp',
      transport: 'http',
      headers: { 'X-Key': 'Key ${KEY}' },
    });
    assert.throws(
      () => draft({ server, transport: 'stdio' }),
      /packages\[0\] \(mcpb .*"mcpb" cannot be run.*packages\[1\] \(nuget/s,
    );
  });

  test.each([
    [packaged({ fileSha256: 'ab' }), /SHA-256/],
    [packaged({ registryBaseUrl: 'https://npm.corp.example' }), /registry\.npmjs\.org only/],
    [
      packaged({ transport: { type: 'streamable-http', url: 'http://localhost:1' } }),
      /port of its own/,
    ],
    [packaged({ version: 'latest' }), /"latest"/],
    [packaged({ identifier: '--registry=x' }), /not a name/],
    [
      packaged({ runtimeArguments: [{ type: 'named', name: '--node-options', value: 'x' }] }),
      /"--node-options"/,
    ],
    [
      {
        name: 'a/b',
        packages: [{ ...image, runtimeArguments: [{ type: 'named', name: '--privileged' }] }],
      },
      /"--privileged"/,
    ],
    [
      {
        name: 'a/b',
        packages: [
          { ...image, runtimeArguments: [{ type: 'named', name: '--network', value: 'host' }] },
        ],
      },
      /"network": "bridge"/,
    ],
    [{ name: 'a/b', remotes: [{ type: 'websocket', url: 'wss://x' }] }, /"websocket"/],
    [{ name: 'a/b' }, /neither "packages" nor "remotes"/],
  ])('and an option that cannot be applied is refused with a reason: %#', (server, message) => {
    assert.throws(() => draft({ server }), { code: 'HUB_REQUEST_INVALID', message });
  });

  const long = 'x'.repeat(5_000);
  test.each([
    { name: long },
    { name: long, packages: [{ registryType: 'nuget', identifier: 'a' }] },
    packaged({ registryType: long, identifier: long }),
    packaged({ registryBaseUrl: `https://${long}` }),
    packaged({ transport: { type: long } }),
    packaged({ runtimeArguments: [{ type: 'named', name: long }] }),
    { name: 'a/b', remotes: [{ type: long, url: 'https://x' }] },
  ])('and the reason has only the beginning of a long value: %#', server => {
    assert.throws(() => draft({ server }), /^HubError: server: (?!.*x{61}).*x{30}.*\.\.\./);
  });

  test('options of docker run are overridden by those of the caller', () => {
    const server = {
      name: 'a/files',
      packages: [
        {
          ...image,
          runtimeArguments: [
            {
              type: 'named',
              name: '--mount',
              value: 'type=bind,src={s},dst=/p',
              variables: { s: {} },
            },
            {
              type: 'named',
              name: '-e',
              value: 'DB={db}',
              variables: { db: { isRequired: true } },
            },
          ],
        },
      ],
    };
    assert.throws(() => draft({ server }), /Say which, in "mounts"/);
    assert.deepEqual(entryOf(server, { mounts: ['~/x:/p'], variables: { db: 'main' } }), {
      package: 'docker:mcp/files:1.0.2',
      env: { DB: 'main' },
      mounts: ['~/x:/p'],
    });
  });
});

describe('an invalid body is refused with the name of the field', () => {
  test.each([
    [undefined, /the body: .*an object/],
    [{}, /package: is missing/],
    [{ package: 'x', server: brave }, /server: does not go with "package"/],
    [{ pakage: 'x' }, /pakage: is not a field.*allowed are package, server, name/],
    [{ package: 7 }, /package: write a string/],
    [{ package: 'x', args: ['a', 1] }, /args\.1: write a string/],
    [{ package: 'x', env: { A: 1 } }, /env\.A: write a string/],
    [{ package: 'x', transport: 'http2' }, /transport: write "stdio" or "http" or "sse"/],
    [{ package: 'x', variables: { a: 'b' } }, /variables: goes with "server" only/],
    [{ server: { packages: [{}] } }, /server\.name: is missing/],
  ])('%j', (body, message) => {
    assert.throws(() => draftOf(parseInstallBody(body)), { code: 'HUB_REQUEST_INVALID', message });
  });
});
