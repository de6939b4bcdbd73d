import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { LocalLaunch, ServerConfig } from '#config';
import { type Code, type ErrorData, HubError } from '#core';
import { configOf } from '#helpers/hub';
import { failureAt } from '../../hub/installs/failure.ts';

type Case = {
  readonly code?: Code;
  readonly message?: string;
  readonly data?: ErrorData;
  readonly output?: readonly string[];
  readonly isNetworkless?: boolean;
  readonly isProcess?: boolean;
  readonly launch?: ServerConfig['launch'];
};

function failed(given: Case): HubError {
  const { code = 'HUB_SERVER_START_FAILED', message = 'one did not start.', data = {} } = given;
  const { output = [], isNetworkless = true } = given;
  const error = failureAt('trial', new HubError(code, message, { data }), output, {
    isNetworkless,
    ...(given.isProcess && { isProcess: true }),
    ...(given.launch && { launch: given.launch }),
  });
  assert.ok(error instanceof HubError);
  return error;
}

test('an error that is a bug is passed on unchanged', () => {
  const bug = new TypeError('a bug');
  assert.equal(failureAt('build', bug, ['x'], { isNetworkless: true }), bug);
});

test('a failure has its step, the output, and the data of the error', () => {
  const error = failed({ data: { server: 'one' }, output: ['a', 'b'] });
  assert.deepEqual(error.data, { server: 'one', step: 'trial', output: 'a\nb' });
  assert.equal(error.code, 'HUB_SERVER_START_FAILED');
  assert.ok(error.cause instanceof HubError);
  assert.ok(!Object.hasOwn(failed({}).data, 'output'));
});

function launchOf(source: Partial<LocalLaunch>): LocalLaunch {
  const { launch } = configOf({ name: 'one' });
  return launch.kind === 'local' ? { ...launch, ...source } : assert.fail();
}

test.each([
  ['npm', '@org/server@1.2.3', 'npm view @org/server versions'],
  ['npm', 'server@latest', 'npm view server versions'],
  ['npm', '@org/server', 'npm view @org/server versions'],
  ['pypi', 'mcp-server[all]==1.0', 'pip index versions mcp-server'],
] as const)(
  'a failed build of the %s package %s names the command that lists its versions',
  (ecosystem, spec, command) => {
    const launch = launchOf({ package: { ecosystem, spec } });
    const { message } = failed({ code: 'HUB_IMAGE_BUILD_FAILED', launch });
    assert.ok(
      message.endsWith(`, or choose another version. To look by hand: ${command}`),
      message,
    );
  },
);

test('a failed install script has the remedy for scripts, not for the name of the package', () => {
  const launch = launchOf({ package: { ecosystem: 'npm', spec: 'one@1.0.0' } });
  const script = 'npm error command sh -c playwright install --with-deps chromium';
  const error = { code: 'HUB_IMAGE_BUILD_FAILED', launch } as const;
  const remedy = /Such scripts run without root: .* "system_packages" .* Dockerfile of your own$/;
  assert.match(failed({ ...error, message: `npm error code 1\n${script}\nx` }).message, remedy);
  assert.match(failed({ ...error, output: ['npm error code 1', script] }).message, remedy);
  assert.doesNotMatch(failed({ ...error, output: ['npm error code E404'] }).message, remedy);
});

test('an image that cannot be pulled has the pull command in its error', () => {
  const launch = launchOf({ image: 'org/server:1' });
  const { message } = failed({ code: 'HUB_IMAGE_MISSING', launch });
  assert.equal(message, 'one did not start. To look by hand: docker pull org/server:1');
});

describe('the error of a server that does not start', () => {
  test('has no more advice if its message says to give it more memory', () => {
    const message = 'one did not start: x. It needs more memory: add "resources": {"memory": "1g"}';
    assert.equal(failed({ message, output: ['API_KEY is required'] }).message, message);
  });

  const variable =
    /store it with "agenthub secret set API_KEY", and add "env": \{"API_KEY": "\$\{secret:API_KEY\}"\} \(agenthub add -e API_KEY='\$\{secret:API_KEY\}'\)$/;
  const plain =
    /add "env": \{"BASE_URL": "\.\.\."\} with its value \(agenthub add -e BASE_URL=VALUE\)$/;
  const network = /It has no network: add "network": "bridge"/;
  const older = /older version of the package mcp. Add "with": \["mcp<2"\] to its entry/;
  const other = /Check that it is an MCP server/;

  test.for([
    ['Error: API_KEY is required', variable],
    ['please provide API_KEY', variable],
    ['BASE_URL must be set', plain],
    ['getaddrinfo ENOTFOUND api.test\nAPI_KEY is not set', variable],
    ['connect ECONNREFUSED 10.0.0.1', network],
    ['Temporary failure in name resolution', network],
    ["ImportError: cannot import name 'McpError' from 'mcp.shared.exceptions' (/opt/m.py)", older],
    ["ModuleNotFoundError: No module named 'mcp.server.fastmcp'", older],
    ["AttributeError: 'Server' object has no attribute 'list_resources'", older],
    ["ModuleNotFoundError: No module named 'mcpx'", other],
    ['No configuration found. Set API_KEY, or create .config', variable],
    ['first log in, or pass `--access-token` / `API_KEY`.', variable],
    ['AGENT_PROVIDER  Provider override: openai or anthropic', other],
    ['LOG_LEVEL is set to info', other],
    ['API_KEY=x', other],
    ['KEY is missing', other],
    ['', other],
  ] as const)('has a remedy for the output %j', ([line, remedy]) => {
    assert.match(failed({ output: ['first', line] }).message, remedy);
    assert.match(failed({ data: { stderr: line } }).message, remedy);
  });

  test('says that mounts need a container, if its output names a mount and it is a process', () => {
    const { sandbox } = launchOf({});
    const mounts = [{ source: '/home/ada/notes', target: '/notes', readOnly: true }];
    const launch = launchOf({ sandbox: { ...sandbox, mounts } });
    const given = { launch, output: ['Cannot access directory /notes'] };
    assert.match(
      failed({ ...given, isProcess: true }).message,
      /has no mounts: start Docker, or write \/home\/ada\/notes instead of \/notes in its "args"$/,
    );
    assert.match(failed(given).message, other);
    assert.match(failed({ ...given, isProcess: true, output: ['x'] }).message, other);
  });

  test('does not advise a network if it has one', () => {
    const output = ['getaddrinfo ENOTFOUND api.test'];
    assert.match(failed({ output, isNetworkless: false }).message, other);
  });
});

test.for([
  [{ code: 'HUB_REMOTE_UNREACHABLE', data: { status: 401 } }, /If it wants a key/],
  [{ code: 'HUB_REMOTE_UNREACHABLE', data: { status: 403 } }, /If it wants a key/],
  [{ code: 'HUB_REMOTE_UNREACHABLE', data: { status: 404 } }, /"transport": "sse"/],
  [{ code: 'HUB_REMOTE_UNREACHABLE', data: { status: 405 } }, /"transport": "sse"/],
  [{ code: 'HUB_REMOTE_UNREACHABLE', message: 'self-signed' }, /NODE_EXTRA_CA_CERTS/],
  [{ code: 'HUB_REMOTE_UNREACHABLE', data: { status: 500 } }, /^one did not start\.$/],
  [{ code: 'HUB_IMAGE_BUILD_FAILED' }, /start\. Correct the name or the version in "package"/],
  [{ code: 'HUB_IMAGE_BUILD_FAILED', data: { retryable: false } }, /^one did not start\.$/],
  [{ code: 'HUB_COMMAND_MISSING' }, /With a Docker engine it is not needed/],
  [{ code: 'HUB_CONFIG_INVALID' }, /^one did not start\.$/],
] as const)('for %j has a remedy if there is one', ([given, message]) => {
  assert.match(failed(given).message, message);
});
