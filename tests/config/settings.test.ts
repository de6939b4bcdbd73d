import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { mergeEnvironment, readSettings } from '#config';
import { HubError } from '#core';

const defaults = {
  administration: 'on',
  host: '127.0.0.1',
  port: 9090,
  token: undefined,
  tls: undefined,
  networks: [],
  allowedHosts: [],
  allowedOrigins: [],
  inContainer: false,
  dataDir: './data',
  dataVolume: undefined,
  serversFile: './configs/mcp-servers.json',
  logLevel: 'info',
  logFormat: undefined,
  hubId: undefined,
  hubName: 'agenthub',
  dockerHost: undefined,
  agents: { idleMs: 1_800_000, port: 8080, network: 'agent-host-net' },
  ollama: {
    url: undefined,
    isOff: false,
    isFound: false,
    model: 'deepseek-r1:latest',
    isPulling: false,
    parallel: 1,
  },
  redisUrl: undefined,
  qdrantUrl: undefined,
  qdrantKey: undefined,
  cache: { maxEntries: 1000, maxBytes: 33_554_432, similarityThreshold: undefined },
  build: { memoryBytes: 2 * 1024 ** 3, cpus: 2 },
  breaker: { failureThreshold: 3, recoveryMs: 30_000 },
  rulesFile: './configs/enhancement-rules.json',
  limits: {
    maxConnections: 2000,
    maxSessionsPerClient: 1000,
    maxUnfinishedBytes: 32 * 2 ** 20,
    maxUnreadBytes: 32 * 2 ** 20,
  },
};
const sixteen = 'a-token-16-chars';
const tls = { ROUTER_TLS_CERT: 'cert.pem', ROUTER_TLS_KEY: 'key.pem' };

const readAll = async (file: string) =>
  await readFile(join(import.meta.dirname, '../..', file), 'utf8');

function refusal(env: Record<string, string>, dotenv = ''): HubError {
  try {
    readSettings(env, dotenv);
  } catch (error) {
    assert.ok(error instanceof HubError, String(error));
    return error;
  }
  return assert.fail('the settings were taken');
}

test('an empty environment gives the defaults', () => {
  assert.deepEqual(readSettings({}), defaults);
  assert.deepEqual(
    readSettings({ ROUTER_PORT: '', ROUTER_TOKEN: ' ', LOG_LEVEL: undefined }),
    defaults,
  );
});

test('the log level may be in the config file, and the environment overrides it', () => {
  assert.equal(readSettings({}, '', { logLevel: 'debug' }).logLevel, 'debug');
  assert.equal(readSettings({ LOG_LEVEL: 'warn' }, '', { logLevel: 'debug' }).logLevel, 'warn');
});

test('OLLAMA_HOST=off means that Ollama is not used', () => {
  const { url, isOff } = readSettings({ OLLAMA_HOST: 'off' }).ollama;
  assert.deepEqual({ url, isOff }, { url: undefined, isOff: true });
});

test('every setting is read', () => {
  const env = {
    ROUTER_HOST: '[::]',
    ROUTER_PORT: '0',
    ROUTER_TOKEN: sixteen,
    ROUTER_ADMINISTRATION: 'off',
    ...tls,
    ROUTER_NETWORKS: 'edge.hub, watched.hub',
    ROUTER_ALLOWED_HOSTS: 'Hub.example, ::1 ,[fd00::1],',
    ROUTER_ALLOWED_ORIGINS: 'https://app.example:8443,app://obsidian.md',
    AGENTHUB_IN_CONTAINER: 'true',
    DATA_DIR: '/data',
    DATA_VOLUME: 'hub_hub-data',
    MCP_SERVERS_CONFIG: 'hub.yaml',
    LOG_LEVEL: 'DEBUG',
    LOG_FORMAT: 'json',
    HUB_ID: 'compose-hub',
    HUB_NAME: 'hub-2',
    DOCKER_HOST: 'tcp://127.0.0.1:2375',
    BUILD_MEMORY: '512m',
    BUILD_CPUS: '0.5',
    IDLE_TIMEOUT_MINUTES: '5',
    DOCKER_NETWORK: 'my-agents',
    CONTAINER_PORT: '9000',
    OLLAMA_HOST: 'host.docker.internal',
    OLLAMA_PORT: '8080',
    OLLAMA_MODEL: 'hf.co/org/model:Q4_K_M',
    OLLAMA_PULL: 'true',
    OLLAMA_NUM_PARALLEL: '4',
    REDIS_URL: 'rediss://user:pa55@redis.example:6380/2',
    REDIS_PASSWORD: 'another',
    QDRANT_URL: 'https://qdrant.example',
    QDRANT_API_KEY: 'the-key',
    CACHE_MAX_SIZE: '1',
    CACHE_MAX_BYTES: '1048576',
    CACHE_SIMILARITY_THRESHOLD: '0.9',
    CB_FAILURE_THRESHOLD: '5',
    CB_RECOVERY_TIMEOUT: '60',
    ENHANCEMENT_RULES_CONFIG: 'rules.json',
    MAX_CONNECTIONS: '100',
    MAX_SESSIONS_PER_CLIENT: '10',
    MAX_UNFINISHED_BYTES: '16777216',
    MAX_UNREAD_BYTES: '8388608',
  };
  assert.deepEqual(readSettings(env), {
    host: '::',
    port: 0,
    token: sixteen,
    administration: 'off',
    tls: { certFile: 'cert.pem', keyFile: 'key.pem' },
    networks: ['edge.hub', 'watched.hub'],
    allowedHosts: ['hub.example', '[::1]', '[fd00::1]'],
    allowedOrigins: ['https://app.example:8443', 'app://obsidian.md'],
    inContainer: true,
    dataDir: '/data',
    dataVolume: 'hub_hub-data',
    serversFile: 'hub.yaml',
    logLevel: 'debug',
    logFormat: 'json',
    hubId: 'compose-hub',
    hubName: 'hub-2',
    dockerHost: 'tcp://127.0.0.1:2375',
    agents: { idleMs: 300_000, port: 9000, network: 'my-agents' },
    ollama: {
      url: 'http://host.docker.internal:8080',
      isOff: false,
      isFound: false,
      model: 'hf.co/org/model:Q4_K_M',
      isPulling: true,
      parallel: 4,
    },
    redisUrl: 'rediss://user:pa55@redis.example:6380/2',
    qdrantUrl: 'https://qdrant.example',
    qdrantKey: 'the-key',
    cache: { maxEntries: 1, maxBytes: 1_048_576, similarityThreshold: 0.9 },
    build: { memoryBytes: 512 * 1024 ** 2, cpus: 0.5 },
    breaker: { failureThreshold: 5, recoveryMs: 60_000 },
    rulesFile: 'rules.json',
    limits: {
      maxConnections: 100,
      maxSessionsPerClient: 10,
      maxUnfinishedBytes: 16 * 2 ** 20,
      maxUnreadBytes: 8 * 2 ** 20,
    },
  });
});

test('the process environment overrides .env', () => {
  const dotenv = '# note\nROUTER_PORT=8000\nHUB_NAME="other" # note\n';
  const { port, hubName } = readSettings({ ROUTER_PORT: '7000' }, dotenv);
  assert.deepEqual({ port, hubName }, { port: 7000, hubName: 'other' });
  assert.equal(mergeEnvironment({ ROUTER_PORT: '7000' }, dotenv)['ROUTER_PORT'], '7000');
});

// Ollama itself reads OLLAMA_HOST, so users may have set any form that Ollama and its clients understand.
test.for([
  ['ollama', undefined, 'http://ollama:11434'],
  ['Ollama.example', '80', 'http://ollama.example:80'],
  ['0.0.0.0:8080', undefined, 'http://0.0.0.0:8080'],
  ['127.0.0.1:8080', '11434', 'http://127.0.0.1:8080'],
  ['[::1]', undefined, 'http://[::1]:11434'],
  ['http://ollama:8080/', undefined, 'http://ollama:8080'],
  ['https://ollama.example', undefined, 'https://ollama.example'],
  ['https://ollama.example', '8443', 'https://ollama.example:8443'],
] as const)('OLLAMA_HOST=%s and OLLAMA_PORT=%s give the URL %s', ([host, port, expected]) => {
  const { ollama } = readSettings({ OLLAMA_HOST: host, OLLAMA_PORT: port });
  assert.equal(ollama.url, expected);
});

describe('an invalid value is reported with the variable, the value and what is allowed', () => {
  test.for([
    [
      'ROUTER_HOST',
      'http://x',
      /^ROUTER_HOST: "http:\/\/x" is not allowed. Write an IP address or/,
    ],
    [
      'ROUTER_PORT',
      '65536',
      /^ROUTER_PORT: "65536" is not allowed. Write a number from 0 to 65535/,
    ],
    ['ROUTER_PORT', '90x', /^ROUTER_PORT: "90x"/],
    ['ROUTER_PORT', '-1', /^ROUTER_PORT: "-1"/],
    ['ROUTER_TOKEN', 'two words and more', /^ROUTER_TOKEN: the value \(not shown\)/],
    ['ROUTER_TOKEN', 'too-short', /^ROUTER_TOKEN: the value \(not shown\).*at least 16/],
    [
      'ROUTER_ALLOWED_HOSTS',
      'a,b:80',
      /^ROUTER_ALLOWED_HOSTS: "b:80" is not allowed. Write comma-separated host names/,
    ],
    ['ROUTER_ALLOWED_HOSTS', '*', /^ROUTER_ALLOWED_HOSTS: "\*"/],
    ['ROUTER_ALLOWED_ORIGINS', 'https://a/', /^ROUTER_ALLOWED_ORIGINS: "https:\/\/a\/"/],
    ['ROUTER_ALLOWED_ORIGINS', 'null', /^ROUTER_ALLOWED_ORIGINS: "null"/],
    [
      'AGENTHUB_IN_CONTAINER',
      'yes',
      /^AGENTHUB_IN_CONTAINER: "yes" is not allowed. Write 1, 0, true, false$/,
    ],
    [
      'LOG_LEVEL',
      'loud',
      /^LOG_LEVEL: "loud" is not allowed. Write trace, debug, info, warn, error, silent$/,
    ],
    ['LOG_FORMAT', 'xml', /^LOG_FORMAT: "xml" is not allowed. Write json, pretty$/],
    ['HUB_ID', 'another', /^HUB_ID: is only for a hub in a container.* Remove it/],
    ['HUB_ID', 'My Hub', /^HUB_ID: "My Hub" is not allowed. Write up to 64/],
    ['DEPLOYMENT_NAME', 'a:b', /^DEPLOYMENT_NAME: "a:b" is not allowed. Write 1 to 32/],
    ['HUB_NAME', 'My Hub', /^HUB_NAME: "My Hub" is not allowed. Write 1 to 32/],
    [
      'DOCKER_HOST',
      '/var/run/docker.sock',
      /^DOCKER_HOST: "\/var\/run\/docker.sock" is not allowed/,
    ],
    ['OLLAMA_HOST', 'ftp://ollama', /^OLLAMA_HOST: "ftp:\/\/ollama" is not allowed. Write a host/],
    ['OLLAMA_HOST', 'ollama:99999', /^OLLAMA_HOST: "ollama:99999"/],
    ['OLLAMA_HOST', 'http://u:pa55@ollama', /^OLLAMA_HOST: the value \(not shown\)/],
    ['OLLAMA_PORT', '0', /^OLLAMA_PORT: "0" is not allowed. Write a whole number from 1 to 65535$/],
    ['OLLAMA_MODEL', 'two words', /^OLLAMA_MODEL: "two words" is not allowed/],
    ['REDIS_URL', 'redis:6379', /^REDIS_URL: "redis:6379" is not allowed. Write an address such/],
    ['REDIS_URL', 'http://redis', /^REDIS_URL: "http:\/\/redis"/],
    ['REDIS_URL', 'redis://', /^REDIS_URL: "redis:\/\/"/],
    ['REDIS_URL', 'redis://redis/first', /^REDIS_URL: "redis:\/\/redis\/first"/],
    ['REDIS_URL', 'redis://:pa55', /^REDIS_URL: the value \(not shown\)/],
    ['REDIS_URL', 'redis:pa55', /^REDIS_URL: the value \(not shown\)/],
    ['REDIS_URL', 'http://u:pa55@redis', /^REDIS_URL: the value \(not shown\)/],
    ['QDRANT_URL', 'qdrant:6333', /^QDRANT_URL: "qdrant:6333" is not allowed. Write an address/],
    ['QDRANT_URL', 'https://u:pa55@qdrant', /^QDRANT_URL: the value \(not shown\)/],
    ['QDRANT_URL', 'https://qdrant?api-key=pa55', /^QDRANT_URL: the value \(not shown\)/],
    ['CACHE_MAX_SIZE', '-1', /^CACHE_MAX_SIZE: "-1" is not allowed. Write a whole number from 1/],
    ['CACHE_MAX_SIZE', '1.5', /^CACHE_MAX_SIZE: "1.5"/],
    [
      'CACHE_MAX_BYTES',
      '1000',
      /^CACHE_MAX_BYTES: "1000" is not allowed. Write a whole number from 1048576/,
    ],
    ['OLLAMA_PULL', 'maybe', /^OLLAMA_PULL: "maybe" is not allowed. Write 1, 0, true, false/],
    ['CACHE_MAX_SIZE', '0x10', /^CACHE_MAX_SIZE: "0x10"/],
    [
      'CACHE_SIMILARITY_THRESHOLD',
      '85',
      /^CACHE_SIMILARITY_THRESHOLD: "85" is not allowed. Write a number from 0 to 1$/,
    ],
    ['CB_FAILURE_THRESHOLD', 'abc', /^CB_FAILURE_THRESHOLD: "abc" is not allowed/],
    ['CB_RECOVERY_TIMEOUT', '0', /^CB_RECOVERY_TIMEOUT: "0" is not allowed/],
    ['DOCKER_HOST', 'u:pa55@machine', /^DOCKER_HOST: the value \(not shown\)/],
    ['ROUTER_TLS_CERT', 'cert.pem', /^ROUTER_TLS_KEY: is not set, but TLS needs/],
    ['ROUTER_TLS_KEY', 'key.pem', /^ROUTER_TLS_CERT: is not set, but TLS needs/],
    ['ROUTER_TLS_CLIENT_CA', 'ca.pem', /^ROUTER_TLS_CLIENT_CA: .*Set ROUTER_TLS_CERT and/],
    ['ROUTER_TLS_CLIENT_AUTH', 'required', /^ROUTER_TLS_CLIENT_AUTH: without ROUTER_TLS_CLIENT_CA/],
    ['ROUTER_TLS_CLIENT_AUTH', 'optional', /"optional" is not allowed. Write required, requested/],
  ] as const)('%s=%s', ([name, value, message]) => {
    const { code, message: told } = refusal({ [name]: value });
    assert.equal(code, 'HUB_CONFIG_INVALID');
    assert.match(told, message);
    if (name === 'ROUTER_TOKEN') assert.ok(!told.includes(value));
    assert.ok(!told.includes('pa55'), told);
  });

  test('together with all others', () => {
    const { message } = refusal({ ROUTER_PORT: 'x', LOG_LEVEL: 'y' }, 'HUB_NAME=Z');
    assert.equal(message.split('\n').length, 3);
  });
});

test('client certificates are required by default, and may be only requested', () => {
  const clientsOf = (env: Readonly<Record<string, string>>) =>
    readSettings({ ...tls, ROUTER_TLS_CLIENT_CA: 'ca.pem', ...env }).tls?.clients;
  const [required, requested] = [true, false].map(isRequired => ({ caFile: 'ca.pem', isRequired }));
  assert.deepEqual(clientsOf({}), required);
  assert.deepEqual(clientsOf({ ROUTER_TLS_CLIENT_AUTH: 'required' }), required);
  assert.deepEqual(clientsOf({ ROUTER_TLS_CLIENT_AUTH: 'Requested' }), requested);
});

describe('an address that others can reach needs a token and TLS', () => {
  test.for(['127.0.0.1', '127.1.2.3', 'localhost', '::1', '[::1]'])('%s needs neither', host => {
    assert.equal(readSettings({ ROUTER_HOST: host }).port, 9090);
  });

  test.for([
    '0.0.0.0',
    '::',
    '192.168.1.2',
    'hub.example',
    '127.0.0.1.evil.example',
    '::ffff:1.2.3.4',
  ])('%s is refused without them', host => {
    for (const [env, lacking] of [
      [{}, 'ROUTER_TOKEN, ROUTER_TLS_CERT and ROUTER_TLS_KEY'],
      [{ ROUTER_TOKEN: sixteen }, 'Set ROUTER_TLS_CERT and ROUTER_TLS_KEY'],
      [tls, 'Set ROUTER_TOKEN,'],
    ] as const) {
      const { code, message } = refusal({ ROUTER_HOST: host, ...env });
      assert.equal(code, 'HUB_LISTEN_REFUSED');
      assert.ok(message.startsWith(`ROUTER_HOST: "${host}"`) && message.includes(lacking), message);
    }
    assert.equal(readSettings({ ROUTER_HOST: host, ROUTER_TOKEN: sixteen, ...tls }).token, sixteen);
    const certified = { ROUTER_HOST: host, ...tls, ROUTER_TLS_CLIENT_CA: 'ca.pem' };
    assert.equal(readSettings(certified).token, undefined, 'each client has a certificate');
    const requested = { ...certified, ROUTER_TLS_CLIENT_AUTH: 'requested' };
    assert.match(refusal(requested).message, /Set ROUTER_TOKEN, or/);
  });

  test("in the hub's own container only the unspecified address is exempt", () => {
    const inside = { AGENTHUB_IN_CONTAINER: '1' };
    assert.equal(readSettings({ ROUTER_HOST: '0.0.0.0', ...inside }).host, '0.0.0.0');
    assert.equal(readSettings({ ROUTER_HOST: '::', ...inside }).host, '::');
    assert.equal(refusal({ ROUTER_HOST: '172.17.0.2', ...inside }).code, 'HUB_LISTEN_REFUSED');
  });
});

test('.env.example names every setting, with its default', async () => {
  const example = await readAll('.env.example');
  const sources = ['config/settings', 'config/backends', 'app/open-secrets'].map(
    name => `hub/${name}.ts`,
  );
  const source = (await Promise.all(sources.map(readAll))).join('\n');
  const read = [
    ...source.matchAll(/(?:text|secret|choice|flag|list|address|number)\(\s*'([A-Z_]+)'/g),
    // These variables are not read by the functions above, so the pattern finds them by name.
    ...source.matchAll(/'(AGENTHUB_(?:SECRETS_DIR|PASSPHRASE))'/g),
  ].map(([, name = '']) => name);
  const named = [...example.matchAll(/^#([A-Z][A-Z_]+)=/gm)].map(([, name = '']) => name);
  assert.deepEqual(named.sort(), [...new Set(read)].sort());
  const uncommented = example.replaceAll(/^#(?=[A-Z][A-Z_]+=)/gm, '');
  const { dockerHost, ...settings } = readSettings({}, uncommented);
  assert.equal(dockerHost, 'unix:///var/run/docker.sock');
  assert.deepEqual({ ...settings, dockerHost: undefined }, defaults);
});

test('REDIS_PASSWORD is added to a URL without a password', () => {
  const urlOf = (REDIS_URL: string) =>
    readSettings({ REDIS_URL, REDIS_PASSWORD: 'a/b@c' }).redisUrl;
  assert.equal(urlOf('redis://redis:6379/1'), 'redis://:a%2Fb%40c@redis:6379/1');
  assert.equal(urlOf('redis://:own@redis:6379'), 'redis://:own@redis:6379');
});
