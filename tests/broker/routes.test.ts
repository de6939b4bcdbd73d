import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { findRoute } from '../../hub/broker/routes.ts';
import { parseTarget } from '../../hub/broker/target.ts';

const route = (method: string, target: string) => findRoute(method, parseTarget(target));

describe('a call of the hub is admitted', () => {
  test.each([
    ['GET', '/_ping', 'none'],
    ['GET', '/version', 'none'],
    ['GET', '/v1.51/version', 'none'],
    ['GET', '/events?filters={}', 'filter'],
    ['GET', '/containers/json?all=1', 'filter'],
    ['GET', '/networks', 'filter'],
    ['GET', '/images/agenthub/npm-memory:1.0.0-abcdef/json', 'none'],
    ['GET', '/images/node@sha256:00/json', 'none'],
    ['GET', '/images/json', 'built_images'],
    ['POST', '/images/create?fromImage=node&tag=24', 'pull'],
    ['POST', '/build?t=x', 'build'],
    ['POST', '/containers/create?name=x', 'create_container'],
    ['GET', '/containers/abc/json', 'own'],
    ['POST', '/containers/abc/attach', 'own'],
    ['POST', '/containers/abc/start', 'start_container'],
    ['POST', '/containers/abc/stop?t=1', 'own'],
    ['POST', '/containers/abc/wait', 'own'],
    ['GET', '/containers/abc/stats', 'own'],
    ['DELETE', '/containers/abc?force=1', 'own'],
    ['POST', '/networks/create', 'create_network'],
    ['GET', '/networks/abc', 'own'],
    ['DELETE', '/networks/abc', 'own'],
    ['GET', '/system/df?type=volume', 'own_volumes'],
    ['GET', '/info', 'limits'],
    ['GET', '/volumes/abc', 'own'],
    ['DELETE', '/volumes/abc', 'own'],
    ['DELETE', '/images/agenthub/npm-memory:1.0.0-abcdef', 'built_image'],
    ['DELETE', '/images/agenthub/egress:0123456789ab', 'built_image'],
    ['DELETE', '/images/agenthub/git:0123456789ab', 'built_image'],
    ['DELETE', '/images/agenthub/ollama-mcp:0123456789ab', 'built_image'],
    [
      'POST',
      '/images/agenthub/agent:0123456789ab/tag?repo=agenthub/agent&tag=0123456789ab.h-0123456789ab',
      'built_image',
    ],
    [
      'POST',
      '/images/agenthub/npm-memory:1.0.0-ab/tag?repo=agenthub/npm-memory&tag=1.0.0-ab.h-0123456789ab',
      'built_image',
    ],
    ['DELETE', '/v1.51/images/agenthub/python-time:1.0-ab', 'built_image'],
  ])('%s %s', (method, target, handling) => {
    assert.equal(route(method, target).handling.kind, handling);
  });
});

test('the name in a path gives way to the id, wherever else it stands', () => {
  for (const name of ['json', 'containers', 'start', 'abc']) {
    assert.equal(route('POST', `/containers/${name}/start`).path, '/containers/{id}/start');
  }
});

describe('a call that the hub does not make is refused', () => {
  test.each([
    ['POST', '/containers/abc/exec'],
    ['POST', '/exec/abc/start'],
    ['POST', '/commit?container=abc'],
    ['GET', '/containers/abc/archive?path=/'],
    ['PUT', '/containers/abc/archive?path=/'],
    ['GET', '/containers/abc/export'],
    ['GET', '/containers/abc/logs'],
    ['GET', '/containers/abc/attach/ws'],
    ['POST', '/containers/abc/rename?name=x'],
    ['POST', '/containers/abc/update'],
    ['POST', '/containers/abc/kill'],
    ['POST', '/containers/abc/restart'],
    ['POST', '/containers/prune'],
    ['GET', '/swarm'],
    ['POST', '/system/prune'],
    ['POST', '/session'],
    ['POST', '/grpc'],
    ['POST', '/auth'],
    ['POST', '/swarm/init'],
    ['GET', '/secrets'],
    ['POST', '/plugins/pull'],
    ['POST', '/images/load'],
    ['POST', '/images/node/push'],
    ['POST', '/images/node/tag?repo=agenthub'],
    ['DELETE', '/images/node'],
    ['DELETE', '/images/agenthub:0.1.0'],
    ['DELETE', '/images/agenthub/hub:0.1.0'],
    ['DELETE', '/images/agenthub/npm-memory'],
    ['DELETE', '/images/agenthub/hub:0.1.0'],
    ['DELETE', '/images/agenthub/agents:0123456789ab'],
    ['DELETE', '/images/agenthub/npm-memory@sha256:00'],
    ['DELETE', '/images/x/agenthub/npm-memory:1'],
    ['DELETE', '/images/prune'],
    ['POST', '/volumes/prune'],
    ['GET', '/images/get'],
    ['POST', '/networks/prune'],
    ['POST', '/volumes/create'],
    ['GET', '/volumes'],
    ['HEAD', '/_ping'],
    ['PUT', '/containers/create'],
    ['post', '/containers/create'],
    ['POST', '/Containers/create'],
    ['POST', '/containers/CREATE'],
  ])('%s %s', (method, target) => {
    assert.throws(() => route(method, target), {
      code: 'HUB_BROKER_REFUSED',
      message: /^the broker does not admit "/,
    });
  });
});

describe('a path that can be read in two ways is refused', () => {
  test.each([
    '/v1.43/../containers/abc/json',
    '/containers/../containers/json',
    '/containers/./json',
    '/containers/%2e%2e/json',
    '/containers/abc%2fexec',
    '/containers/abc%00/json',
    '//containers/json',
    '/containers//json',
    '/containers/json/',
    '/v1.43//containers/json',
    '/V1.43/containers/json',
    '/v2/containers/json',
    '/v1.43/v1.43/containers/json',
    '/containers\\json',
    '/containers/json;x',
    '/containers/json#x',
    '/containers/json?all=1?all=1',
    '/containers/json?all=1&all=0',
    'http://engine/containers/json',
    '*',
    '',
  ])('%s', target => {
    assert.throws(() => route('GET', target), { code: 'HUB_BROKER_REFUSED' });
  });
});
